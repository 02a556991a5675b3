"""
What a machine said of its boot: a BootReport that goes with its Machine, for whoever looks at it.

Whoever reads pools reads these, so what the machine was given in secret is taken out of them before
they are kept: see serve/kept_reports.py. Earlier releases kept them in Secrets, which are read.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from fairlead.errors import InputError
from fairlead.kube.answer import Object
from fairlead.kube.names import POOL_LABEL, split
from fairlead.kube.resource import BOOT_REPORTS, GROUP, MACHINES

# Of the Secrets of earlier releases: their type, what their names begin with, and their annotation.
EARLIER_TYPE = f"{GROUP}/report"
EARLIER_NAME = "report-"
EARLIER_PAIR = f"{GROUP}/pair"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReport:
    """
    What a machine said. pair: what it had booted from.

    digest: of what it sent, byte for byte, to know it again. text: that, without secrets. change:
    the change in place that the boot was part of, or ''.
    """

    pair: str
    digest: str
    text: str
    change: str = ""

    def is_about(self, pair: str, change: str) -> bool:
        """
        Say whether it is the word of a boot from this pair.

        change: the one that is being applied, or ''. A machine that comes back to a pair boots
        from it once more.
        """
        return self.pair == pair and change in ("", self.change)


def report_object(pool: str, machine: Object, kept: KeptReport) -> Object:
    """Return what keeps a machine's report for as long as its Machine is there."""
    metadata = machine["metadata"]
    owner = {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {
        "apiVersion": BOOT_REPORTS.api_version,
        "kind": BOOT_REPORTS.kind,
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": {POOL_LABEL: split(pool)[1]},
            "ownerReferences": [owner],
        },
        "spec": {
            "pool": split(pool)[1],
            "pair": kept.pair,
            "change": kept.change,
            "digest": kept.digest,
            "report": kept.text,
        },
    }


def report_in(found: Object) -> KeptReport:
    """Return what a BootReport holds."""
    spec = found["spec"]
    return KeptReport(
        pair=spec["pair"],
        digest=spec["digest"],
        text=spec["report"],
        change=spec.get("change", ""),
    )


def is_of(found: Object, machine: Object) -> bool:
    """Say whether this very Machine's machine said it, and not one of the same name before."""
    owners = found["metadata"].get("ownerReferences") or [{}]
    return bool(owners[0].get("uid") == machine["metadata"]["uid"])


def earlier_name(machine: str) -> str:
    """Return what the Secret of a machine's report is called, of an earlier release."""
    return f"{EARLIER_NAME}{machine}"


def earlier_report(found: Object) -> tuple[str, bytes]:
    """Return the pair and the report in such a Secret. Raises InputError if it holds none."""
    try:
        report = base64.b64decode(found["data"]["report"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        where = found["metadata"]["name"]
        raise InputError(f"Secret {where} holds no usable report") from error
    return str((found["metadata"].get("annotations") or {}).get(EARLIER_PAIR, "")), report
