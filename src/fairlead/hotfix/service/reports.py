"""
What a boot report says for or against a fix. Pure: a report and a catalog in, a counted boot out.

A boot that fell back to the baked agent is a failed one for the fix: the node is fine, the fix is
not. Bases and versions that the catalog does not know are counted as unknown ones: a machine that
makes names up fills no table.
"""

from __future__ import annotations

from fairlead.contract.boot_report import BootReport
from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.contract.hotfix.fact import HotfixFact, hotfix_in
from fairlead.contract.image_version import base_of, is_version
from fairlead.hotfix.catalog import Catalog, patch_of
from fairlead.hotfix.service.attestation.verifier import Claims
from fairlead.hotfix.service.ledger import Asker, EndedBoot

# What the service takes: an agent sends at most 64 KiB.
LARGEST_REPORT = 64 << 10

UNKNOWN_BASE = ""

LONGEST_RUN = 100


def ended_boot(report: BootReport, claims: Claims, catalog: Catalog) -> EndedBoot:
    """Return what is counted of a report by the machine that these claims prove."""
    fact = hotfix_in(report)
    base = base_of(fact.baked) or ""
    is_known = base in catalog.bases or any(fix.base == base for fix in catalog.fixes)
    asker = Asker(
        component=OUR_COMPONENT,
        machine=claims.machine,
        region=claims.region,
        base=base if is_known else UNKNOWN_BASE,
    )
    version, has_fix = _judged(fact, catalog, base)
    is_good = report.exit_code == 0 and (not version or has_fix)
    return EndedBoot(
        asker=asker,
        version=version,
        is_good=is_good,
        run=report.run_id[:LONGEST_RUN],
        used=fact.used if has_fix else _brought_by_image(fact, base if is_known else ""),
        wanted=fact.wanted,
        cause=fact.cause or ("" if is_good else _stopped_by(report)),
        pool=claims.pool,
    )


def _judged(fact: HotfixFact, catalog: Catalog, base: str) -> tuple[str, bool]:
    """Return the fix that this boot speaks for or against, or '', and whether it had it."""
    for version, has_fix in ((fact.used, True), (fact.wanted, False)):
        fix = catalog.find(version) if version else None
        if fix is not None and (fix.component, fix.base) == (OUR_COMPONENT, base):
            return version, has_fix
    return "", False


def _brought_by_image(fact: HotfixFact, base: str) -> str:
    """Return the version of an image that was built with a fix of its base in it, or ''."""
    has_patch = bool(base) and is_version(fact.baked) and patch_of(fact.baked) > 0
    return fact.baked if has_patch else ""


def _stopped_by(report: BootReport) -> str:
    stopped = [stage.name for stage in report.stages if stage.outcome == "stopped"]
    name = stopped[0][:LONGEST_RUN] if stopped else ""
    return f"stopped by {name}" if name and name.isprintable() else f"exit {report.exit_code}"
