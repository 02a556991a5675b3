"""
What a machine said of its boot, for whoever may read the Secret that keeps it.

The roles of people read no Secret, and a role cannot name them by a pattern: who may not read a
report is told how to get it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.contract.boot_report import BootReport, parse_report
from fairlead.contract.json_text import parse_json, plain
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.kube.answer import ForbiddenError, Object
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.boot_reports import REPORT_TYPE, report_in, report_name
from fairlead.kube.resource import SECRETS


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenReport:
    """A report, read and as it was sent; or neither. problem: why it cannot be shown, or ''."""

    report: BootReport | None = None
    sent: Json = None
    problem: str = ""


def read_report(client: KubeClient, machine: Object) -> SeenReport:
    """Return what a Machine's machine said of its last boot."""
    namespace, name = machine["metadata"]["namespace"], machine["metadata"]["name"]
    try:
        found = client.find(SECRETS, report_name(name), namespace)
        if found is None or found.get("type") != REPORT_TYPE:
            return SeenReport()
        text = report_in(found)
        return SeenReport(report=parse_report(text), sent=plain(parse_json(text)))
    except ForbiddenError:
        return SeenReport(problem=_refused(namespace, name))
    except InputError as error:
        return SeenReport(problem=f"its boot report cannot be read: {error}")


def _refused(namespace: str, machine: str) -> str:
    secret = report_name(machine)
    return (
        f"its boot report is the Secret {secret} of {namespace}, if it sent one, and you may not "
        f"read it; who may: kubectl -n {namespace} get secret {secret} "
        "-o jsonpath='{.data.report}' | base64 -d > boot.json, then: "
        "fairlead timeline show boot.json"
    )
