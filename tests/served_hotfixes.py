"""A depot with signed metadata and a catalog, and a service over it, without any package tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fairlead.contract.boot_report import BootReport, report_fields
from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.contract.json_text import encode_json
from fairlead.hotfix.campaign import Schedule
from fairlead.hotfix.catalog import Catalog, Fix
from fairlead.hotfix.publish import metadata
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.keys import make_key
from fairlead.hotfix.publish.metadata import RoleKeys, Signers
from fairlead.hotfix.service.asked import Question, Reply
from fairlead.hotfix.service.attestation.verifier import Claims, NotAdmittedError, UnprovenError
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.pointers import ServedPointers
from fairlead.hotfix.service.shelf import Shelf

NOW = datetime(2026, 11, 16, 17, tzinfo=UTC)
BASE = "202611.16"
FIX = "202611.16.3"
BAKED = "202611.16.0"


def make_fix(version: str = FIX, **changes: object) -> Fix:
    base = version.rpartition(".")[0]
    fields: dict[str, object] = {
        "component": OUR_COMPONENT,
        "version": version,
        "base": base,
        "schedule": Schedule.EMERGENCY,
        "published_at": NOW,
        "packages": (f"apt/pool/fairlead-node-hotfix_{version}_all.deb",),
        **changes,
    }
    return Fix(**fields)  # type: ignore[arg-type]


def make_depot(directory: Path, fixes: Iterable[Fix] = (), now: datetime = NOW) -> Depot:
    """A depot in which these fixes are in the catalog; the region `local` is on."""
    depot = Depot(directory)
    for folder in (depot.directory, depot.metadata, depot.keys, depot.apt / "pool"):
        folder.mkdir(parents=True, exist_ok=True)
    signers = Signers(
        root=(make_key(depot.keys / "root-1.pem"),),
        release=make_key(depot.keys / "release.pem"),
        online=make_key(depot.keys / "online.pem"),
    )
    keys = RoleKeys(
        root=tuple(signer.public_key for signer in signers.root),
        release=signers.release.public_key,
        online=signers.online.public_key,
        threshold=1,
    )
    depot.write_signed(metadata.start(keys, signers, now))
    depot.write_catalog(make_catalog(fixes))
    return depot


def make_catalog(fixes: Iterable[Fix]) -> Catalog:
    return Catalog(regions={"local": True}, bases=(BASE, "202605.30"), fixes=tuple(fixes))


@dataclass
class NamedMachines:
    """Proves a machine by `proof-of-NAME`, for as long as `life` says."""

    name = "named"
    life: timedelta | None = None
    region: str = "local"
    asked: list[str] = field(default_factory=list)

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        self.asked.append(machine)
        if proof == "proof-of-a-stranger":
            raise NotAdmittedError("account")
        if not proof.startswith("proof-of-"):
            raise UnprovenError("malformed")
        until = now + self.life if self.life else None
        found = proof.removeprefix("proof-of-")
        return Claims(machine=found, region=self.region, until=until, pool="workers")


class Serving:
    """One worker over a depot."""

    def __init__(self, depot: Depot, verifier: NamedMachines | None = None) -> None:
        self.told: list[str] = []
        self.verifier = verifier or NamedMachines()
        self.ledger = FileLedger(depot.directory)
        self.shelf = Shelf(depot)
        self.pointers = ServedPointers(self.shelf, self.ledger, [self.verifier], self.told.append)

    def ask(self, machine: str, now: datetime = NOW, **changes: Any) -> Reply:
        fields = {
            "component": OUR_COMPONENT,
            "proof": f"proof-of-{machine}",
            "machine": machine,
            "version": BAKED,
            **changes,
        }
        return self.pointers.answer(Question(**fields), now)


def report_text(
    *, run: str, used: str = "", wanted: str = "", exit_code: int = 0, baked: str = BAKED
) -> bytes:
    """A boot report as an agent sends it."""
    report = BootReport(run, agent=baked, layout="fairlead", started="2026-11-16T17:00:00Z")
    report.exit_code = exit_code
    fact = {"baked": baked, "used": used, "wanted": wanted or used}
    report.facts["hotfix"] = {name: text for name, text in fact.items() if text}
    return encode_json(report_fields(report)).encode()


def machines_in_reach(version: str, reach: float, count: int) -> list[str]:
    """Names of machines that a campaign's open waves hold."""
    from fairlead.hotfix.campaign import BUCKETS, bucket_of

    names = (f"m{number}" for number in range(1_000_000))
    held = (name for name in names if bucket_of(version, name) < reach * BUCKETS)
    return [next(held) for _ in range(count)]
