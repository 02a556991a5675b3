"""
What a machine said of its boot: a Secret that goes with its Machine, since a script's last lines
are in it.
"""

from __future__ import annotations

import base64

from fairlead.errors import InputError
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.deployment import machine_of
from fairlead.kube.names import POOL_LABEL, split
from fairlead.kube.resource import MACHINES

REPORT_TYPE = "fairlead.dev/report"
# Which pair a machine booted from that said this.
PAIR = "fairlead.dev/pair"
REPORT = "report"


def report_name(machine: str) -> str:
    """Return what the Secret of a machine's report is called."""
    return f"report-{machine}"


def report_in(found: Object) -> bytes:
    """Return the report in a Secret. Raises InputError if it holds none."""
    try:
        return base64.b64decode(found["data"][REPORT], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        where = found["metadata"]["name"]
        raise InputError(f"Secret {where} holds no usable {REPORT}") from error


def report_object(pool: str, machine: Object, report: bytes) -> Object:
    """Return the Secret that keeps a machine's report for as long as its Machine is there."""
    metadata, seen = machine["metadata"], machine_of(machine, pool)
    owner = {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": REPORT_TYPE,
        "metadata": {
            "name": report_name(metadata["name"]),
            "namespace": metadata["namespace"],
            "labels": {POOL_LABEL: split(pool)[1]},
            "annotations": {PAIR: seen.heading_for or seen.revision},
            "ownerReferences": [owner],
        },
        "data": {REPORT: base64.b64encode(report).decode()},
    }
