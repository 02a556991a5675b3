"""
What a machine said of its boot, for whoever may look at pools: a BootReport.

Releases before kept it in a Secret, which the roles of people do not read. A payload service of
this release makes a BootReport of each; until it did, who may not read the Secret is told so.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.contract.boot_report import BootReport, parse_report
from fairlead.contract.json_text import parse_json, plain
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.kube.answer import ForbiddenError, Object
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.boot_reports import (
    EARLIER_TYPE,
    earlier_name,
    earlier_report,
    is_of,
    report_in,
)
from fairlead.kube.cluster_api.deployment import BOOT_MS
from fairlead.kube.cluster_api.in_place import annotations_of
from fairlead.kube.front.identity import refusal_of
from fairlead.kube.resource import BOOT_REPORTS, SECRETS


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenReport:
    """A report, read and as it was sent; or neither. problem: why it cannot be shown, or ''."""

    report: BootReport | None = None
    sent: Json = None
    problem: str = ""


def read_report(client: KubeClient, machine: Object) -> SeenReport:
    """Return what a Machine's machine said of its last boot."""
    try:
        text = _find(client, machine)
        if text is None:
            return SeenReport()
        return SeenReport(report=parse_report(text), sent=plain(parse_json(text)))
    except ForbiddenError as error:
        return SeenReport(problem=f"its boot report is not shown: {refusal_of(error.problem)}")
    except InputError as error:
        return SeenReport(problem=f"its boot report cannot be read: {error}")


def _find(client: KubeClient, machine: Object) -> bytes | None:
    namespace, name = machine["metadata"]["namespace"], machine["metadata"]["name"]
    found = client.find(BOOT_REPORTS, name, namespace)
    if found is not None and is_of(found, machine):
        return report_in(found).text.encode()
    if BOOT_MS not in annotations_of(machine):
        return None
    # It reported, to a payload service of before.
    try:
        earlier = client.find(SECRETS, earlier_name(name), namespace)
    except ForbiddenError as error:
        raise InputError(
            f"it is the Secret {earlier_name(name)} of {namespace}, as an earlier release kept it",
            hint="a payload service of this release makes a BootReport of it in ten minutes",
        ) from error
    if earlier is None or earlier.get("type") != EARLIER_TYPE:
        return None
    return earlier_report(earlier)[1]
