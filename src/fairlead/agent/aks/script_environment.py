"""
What bootstrap scripts are started with: the usable config, the image's components, its containerd.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.components import Components
    from fairlead.agent.host import Host
    from fairlead.agent.stages.stage import Boot
    from fairlead.contract.node_config import NodeConfig

SUPPORTED_VERSIONS = ("v1", "v0")
DEPRECATED_VERSIONS = ("v0",)

# `containerd --version` prints and ends; one that hangs must not hold up the boot.
CONTAINERD_DEADLINE_S = 5.0


def read_usable_config(boot: Boot) -> NodeConfig:
    """Return the node config, or raise InputError naming what makes it unusable."""
    parsed = boot.read_config()
    if parsed.violations:
        violation = parsed.violations[0]
        raise InputError(
            violation.problem,
            field=violation.path,
            hint="the document's mustUnderstand says so; use a newer image or a hotfix",
        )
    version = parsed.config.text("version")
    if version not in SUPPORTED_VERSIONS:
        first = parsed.problems[0] if parsed.problems else None
        because = f"; {first.path or 'the document'}: {first.problem}" if first else ""
        raise InputError(
            f"unsupported version: {version!r}, expected 'v1'{because}", field="version"
        )
    if version in DEPRECATED_VERSIONS:
        boot.run.log("WARN", "node config version is deprecated, use v1", version=version)
    return parsed.config


def script_environment(boot: Boot, config: NodeConfig, components: Components) -> dict[str, str]:
    """Return the variables that bootstrap scripts get, without the agent's own."""
    from fairlead.agent.aks.environment import environment_of

    return environment_of(config, components, find_containerd_version(boot))


def read_components(boot: Boot) -> Components:
    """Return what the image's components.json says, or raise InputError that names the file."""
    from fairlead.agent.aks.components import Components, parse_components

    path = boot.run.layout.components
    if not path:
        return Components()
    text = find_file(boot.run.host, path)
    if text is None:
        raise InputError(
            "missing, and bootstrap scripts install GPU drivers by it",
            field=path,
            hint="it is part of every image that AKS builds; put the image's own back",
        )
    try:
        return parse_components(text)
    except InputError as error:
        raise InputError(f"cannot be used: {error}", field=path) from error


def find_containerd_version(boot: Boot) -> str:
    """Return the version of the containerd on this machine; '' if there is none."""
    if boot.containerd_version is None:
        boot.containerd_version = _read_containerd_version(boot.run.host)
    return boot.containerd_version


def _read_containerd_version(host: Host) -> str:
    from fairlead.agent.aks.containerd_version import containerd_version_of

    try:
        finished = host.run(["containerd", "--version"], deadline_s=CONTAINERD_DEADLINE_S)
    except OSError:
        return ""
    return containerd_version_of(finished.output.decode("utf-8", "replace"))
