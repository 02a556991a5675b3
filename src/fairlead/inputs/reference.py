"""
docs/reference/pool.md, from the registry: every field of a pool, its default and an example.

`python -m fairlead.inputs.reference > docs/reference/pool.md` writes it again; a test compares, and
gives every example to the parser.
"""

import sys
from collections.abc import Iterable, Iterator

from fairlead.inputs.defaults import DEFAULTS
from fairlead.inputs.leaf import Leaf
from fairlead.inputs.registry import NOT_CARRIED_OUT, SETTING_LEAVES
from fairlead.inputs.user_intent import INTENT_LEAVES

OPENING = """\
# Every field of a pool

Paths are below `spec` of a NodePool document. This page is generated: `python -m
fairlead.inputs.reference`. The same as JSON Schema: [node-pool.schema.json](node-pool.schema.json),
or `fairlead schema NodePool`. A whole pool: [examples/pool.yaml](../../examples/pool.yaml).

What you leave out is filled in by us and is no intent of yours: a default that changes replaces no
machine.
"""

INTENT = """
## What your machines are

A change of any of these replaces machines, or changes them in place, as `management` says.
"""

SETTINGS = """
## How many, when and how

A change of any of these replaces no machine.
"""

REFUSED = """
## Read, and refused

Nothing carries these out. Pools that have one in force go on.
"""

# By path, as it stands in YAML on one line.
EXAMPLES = {
    "release.version": "1.34.2",
    "release.digest": "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    "imageBase": '"202607.02"',
    "osStream": "ubuntu-24.04",
    "config.kubelet.*": "{kind: KubeletConfiguration, maxPods: 110}",
    "config.containerd.*": '{kind: ContainerdConfiguration, toml: "[debug]\\nlevel = \\"info\\""}',
    "config.sysctl.*": "{kind: Sysctl, settings: {vm.max_map_count: 262144}}",
    "config.files.*": '{kind: Files, files: [{path: /etc/motd, content: "hi", mode: "0644"}]}',
    "config.mirrors.*": "{kind: Mirrors, mirrors: [{source: docker.io, mirrors: [m.example]}]}",
    "pullSecret.name": "registry-login",
    "trustBundle.name": "corporate-roots",
    "proxy.http": "http://proxy.example:3128",
    "proxy.https": "http://proxy.example:3128",
    "proxy.noProxy": "[.svc, 10.0.0.0/8]",
    "sshKeys": "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 me]",
    "endpoint.advertiseAddress": "10.0.0.4",
    "endpoint.name": "api.example:6443",
    "machineTemplate.*": "{vmSize: m5.large}",
    "proxyImage": "haproxy@sha256:bb",
    "release.allow": "[Downgrade]",
    "replicas": "3",
    "autoscaling.min": "1",
    "autoscaling.max": "5",
    "labels.*": "{example.com/team: platform}",
    "taints": "[{key: dedicated, value: gpu, effect: NoSchedule}]",
    "timeouts.drain": "10m",
    "timeouts.detach": "5m",
    "timeouts.join": "20m",
    "timeouts.ready": "8m",
    "autoRepair": "true",
    "maxUnhealthy": "40%",
    "management.type": "Replace",
    "management.strategy": "RollingUpdate",
    "management.maxSurge": "25%",
    "management.maxUnavailable": "1",
    "rollout.windows": '[{days: [Sat], start: "02:00", duration: 4h, zone: Europe/Berlin}]',
    "rollout.canary": "[1, 10%]",
    "rollout.soak": "15m",
    "rollout.haltAfter": "2",
    "rollout.estimate": "5m",
    "rollout.resume": '"1"',
    "rollout.replaceWithout.fix": "202604.01.3",
    "rollout.replaceWithout.request": '"1"',
    "platformChanges.newNodes": "Refresh",
    "platformChanges.maximumAge.routine": "90d",
    "platformChanges.maximumAge.security": "7d",
    "platformChanges.maximumAge.connectivity": "1d",
    "secretContent": "Drift",
    "paused": "true",
    "force": '"2026-11-16"',
}


def page() -> str:
    """Return the page."""
    rows = (*INTENT_LEAVES, *SETTING_LEAVES)
    carried = [row for row in rows if row.path not in NOT_CARRIED_OUT]
    intent = [row for row in carried if row in INTENT_LEAVES]
    settings = [row for row in carried if row in SETTING_LEAVES]
    refused = [f"- `{path}`: {why}" for path, why in sorted(NOT_CARRIED_OUT.items())]
    parts = [OPENING, INTENT, *_table(intent), SETTINGS, *_table(settings), REFUSED, *refused]
    return "\n".join(parts) + "\n"


def _table(rows: Iterable[Leaf]) -> Iterator[str]:
    yield "| field | what it is | default | example |"
    yield "| --- | --- | --- | --- |"
    for row in rows:
        path = row.path.removesuffix(".*")
        shown = "config" if path.startswith("config.") else path
        found = DEFAULTS.get(row.path)
        default = "" if found in (None, "") else f"`{_spoken(row.path, found)}`"
        yield f"| `{shown}` | {row.says} | {default} | `{EXAMPLES[row.path]}` |"


def _spoken(path: str, value: object) -> str:
    """Return a default as an owner would write it; durations are kept in seconds."""
    if path == "osStream":
        return "by version"
    if isinstance(value, bool):
        return str(value).lower()
    is_duration = path.startswith("timeouts.") or path in ("rollout.soak", "rollout.estimate")
    if is_duration and isinstance(value, int):
        return f"{value // 60}m" if value else "none"
    return str(value)


if __name__ == "__main__":
    sys.stdout.write(page())
