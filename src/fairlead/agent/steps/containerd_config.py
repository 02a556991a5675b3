"""
containerd's config.toml, in the format of the containerd that is there.

Version 3 came with containerd 2.0 and renamed the plugins. 2.x still reads version 2, so version
2 is the answer when nobody can be asked. Sections of the pool's owner go over ours, and are in one
of the two formats themselves.
"""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.steps.one_line import one_line
from fairlead.agent.steps.programs import program_path
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd, run_command
from fairlead.agent.steps.write import PUBLIC, apply_file
from fairlead.contract.node_settings import CONTAINERD, NAME, containerd_of, kubelet_of
from fairlead.contract.toml_text import key_text, render_toml
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

CONFIG_FILE = "/etc/containerd/config.toml"
REGISTRY_HOSTS = "/etc/containerd/certs.d"
SOCKET = "/run/containerd/containerd.sock"

SANDBOX_FIELD = "kube_binary_config.pod_infra_container_image_url"
ROOT_FIELD = "kubelet_config.container_data_dir"

# The first containerd that reads version 3.
FIRST_MAJOR_WITH_VERSION_3 = 2

# How the two formats call what runs containers.
PLUGIN_OF_VERSION_2 = "io.containerd.grpc.v1.cri"
IMAGES_OF_VERSION_3 = "io.containerd.cri.v1.images"
RUNTIME_OF_VERSION_3 = "io.containerd.cri.v1.runtime"

# Where CNI plugins are: containerd's own default, and the packages of Debian and Ubuntu.
UPSTREAM_PLUGINS = "/opt/cni/bin"
PACKAGED_PLUGINS = "/usr/lib/cni"

# 2.1 brought `bin_dirs`, and 2.2 took `bin_dir` out of format 3.
FIRST_WITH_TWO_DIRECTORIES = (2, 1)

# The plugin that containerd itself needs before any pod.
LOOPBACK = "loopback"

# The kubelet's name for the other cgroup driver.
CGROUPFS = "cgroupfs"

VERSION_FIELD = f"{NAME}[{CONTAINERD}version]"


def render_containerd_config(
    config: NodeConfig, version: int, network: dict[str, object] | None = None
) -> str:
    """
    Return config.toml in format version 2 or 3: our tables, and the pool's over them.

    network: what the image needs in the table `cni`, from network_plugins_of.
    """
    sections = containerd_of(config)
    tables = _tables_of(config, version, {} if _names_plugins(sections) else network or {})
    _merge(tables, {**sections, "version": version}, "")
    return render_toml(tables)


def _tables_of(config: NodeConfig, version: int, network: dict[str, object]) -> dict[str, object]:
    sandbox = one_line(config.text(SANDBOX_FIELD), SANDBOX_FIELD)
    root = one_line(config.text(ROOT_FIELD), ROOT_FIELD)
    if root and not root.startswith("/"):
        raise InputError("not an absolute path", field=ROOT_FIELD)
    # The cgroup driver must be the kubelet's: systemd, if the owner says nothing else.
    is_systemd = kubelet_of(config).get("cgroupDriver") != CGROUPFS
    runc = {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": is_systemd}}
    runtime: dict[str, object] = {
        "containerd": {"default_runtime_name": "runc", "runtimes": {"runc": runc}},
        **({"cni": network} if network else {}),
    }
    registry = {"config_path": REGISTRY_HOSTS}
    if version == 2:  # noqa: PLR2004 - a version is compared with a number
        image: dict[str, object] = {"sandbox_image": sandbox} if sandbox else {}
        plugins = {PLUGIN_OF_VERSION_2: {**image, **runtime, "registry": registry}}
    else:
        image = {"pinned_images": {"sandbox": sandbox}} if sandbox else {}
        plugins = {
            IMAGES_OF_VERSION_3: {**image, "registry": registry},
            RUNTIME_OF_VERSION_3: runtime,
        }
    top: dict[str, object] = {"version": version}
    return {**top, **({"root": root} if root else {}), "plugins": plugins}


def _names_plugins(sections: dict[str, object]) -> bool:
    """Say whether the pool's sections name a directory of plugins; containerd takes one word."""
    plugins = sections.get("plugins")
    tables = list(plugins.values()) if isinstance(plugins, dict) else []
    found = [table.get("cni") for table in tables if isinstance(table, dict)]
    return any("bin_dir" in cni or "bin_dirs" in cni for cni in found if isinstance(cni, dict))


def _merge(ours: dict[str, object], theirs: dict[str, object], path: str) -> None:
    """Put their settings over ours; a table stays a table."""
    for key, value in theirs.items():
        found = ours.get(key)
        inner = f"{path}.{key_text(key)}" if path else key_text(key)
        if isinstance(found, dict) and isinstance(value, dict):
            _merge(found, value, inner)
        elif found is not None and isinstance(found, dict) != isinstance(value, dict):
            kind = "a table" if isinstance(found, dict) else "one setting"
            raise InputError(f"{inner} is {kind} of this config", field=f"{NAME}[{CONTAINERD}...]")
        else:
            ours[key] = value


def config_version(sections: dict[str, object], major: int | None) -> int:
    """
    Return the format to write: the one that the pool's sections are in, else the machine's own.

    `major` is the version of the containerd that will read it, None if nobody can be asked.
    """
    plugins = sections.get("plugins")
    names = [str(name) for name in plugins] if isinstance(plugins, dict) else []
    wanted = sections.get("version")
    if wanted is None and any(name.startswith("io.containerd.cri.v1.") for name in names):
        wanted = 3
    elif wanted is None and PLUGIN_OF_VERSION_2 in names:
        wanted = 2
    if wanted is None:
        return 3 if (major or 0) >= FIRST_MAJOR_WITH_VERSION_3 else 2
    if wanted not in (2, 3) or not isinstance(wanted, int):
        raise InputError("expected version 2 or 3", field=VERSION_FIELD)
    if wanted == 3 and major is not None and major < FIRST_MAJOR_WITH_VERSION_3:  # noqa: PLR2004
        raise InputError(
            f"version 3 is for containerd 2 and later, found {major}",
            field=VERSION_FIELD,
            hint=f"write the sections for {PLUGIN_OF_VERSION_2}, or take a newer image",
        )
    return wanted


def apply_containerd_config(host: Host, config: NodeConfig) -> StepOutcome:
    """Leave a config.toml that this machine's containerd reads."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    found = None
    if has_systemd(host):
        found = number_of(run_command(host, [program_path(host, "containerd"), "--version"]))
    version = config_version(containerd_of(config), found[0] if found else None)
    text = render_containerd_config(config, version, network_plugins_of(host, version, found))
    apply_file(host, CONFIG_FILE, text.encode(), PUBLIC, outcome)
    # containerd only warns about a missing directory; it is made so that a mirror can drop in.
    host.make_directory(REGISTRY_HOSTS)
    return outcome


def network_plugins_of(
    host: Host, version: int, found: tuple[int, int] | None
) -> dict[str, object]:
    """
    Return what the table `cni` needs so that the image's plugins are found.

    Nothing if they are where containerd looks by itself, or nowhere yet. Two directories where
    it takes two: what installs itself into a running node uses the first.
    """
    is_found = is_regular_file(host, f"{UPSTREAM_PLUGINS}/{LOOPBACK}")
    if is_found or not is_regular_file(host, f"{PACKAGED_PLUGINS}/{LOOPBACK}"):
        return {}
    if version > 2 and found and found >= FIRST_WITH_TWO_DIRECTORIES:  # noqa: PLR2004 - a format
        return {"bin_dirs": [UPSTREAM_PLUGINS, PACKAGED_PLUGINS]}
    return {"bin_dir": PACKAGED_PLUGINS}


def number_of(answer: str) -> tuple[int, int]:
    """
    Return major and minor of what `containerd --version` printed, (1, 0) if they cannot be told.

    Upstream prints `containerd NAME v2.1.4 COMMIT`, Debian `containerd NAME 1.6.20~ds1 ...`.
    """
    for word in answer.split():
        major, dot, rest = word.removeprefix("v").partition(".")
        if dot and major.isascii() and major.isdigit():
            minor = rest.partition(".")[0]
            return int(major), int(minor) if minor.isascii() and minor.isdigit() else 0
    return 1, 0
