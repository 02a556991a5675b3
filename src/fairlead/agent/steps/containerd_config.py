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

# Where CNI plugins may be, the first that has them counts: upstream's releases and what installs
# itself into a running node use the first, Debian's and Ubuntu's packages the second.
NETWORK_PLUGINS = ("/opt/cni/bin", "/usr/lib/cni")

# The plugin that containerd itself needs before any pod.
LOOPBACK = "loopback"

# The kubelet's name for the other cgroup driver.
CGROUPFS = "cgroupfs"

VERSION_FIELD = f"{NAME}[{CONTAINERD}version]"


def render_containerd_config(config: NodeConfig, version: int, network_plugins: str = "") -> str:
    """
    Return config.toml in format version 2 or 3: our tables, and the pool's over them.

    network_plugins: the directory of CNI plugins, '' for containerd's own default.
    """
    tables = _tables_of(config, version, network_plugins)
    _merge(tables, {**containerd_of(config), "version": version}, "")
    return render_toml(tables)


def _tables_of(config: NodeConfig, version: int, network_plugins: str) -> dict[str, object]:
    sandbox = one_line(config.text(SANDBOX_FIELD), SANDBOX_FIELD)
    root = one_line(config.text(ROOT_FIELD), ROOT_FIELD)
    if root and not root.startswith("/"):
        raise InputError("not an absolute path", field=ROOT_FIELD)
    # The cgroup driver must be the kubelet's: systemd, if the owner says nothing else.
    is_systemd = kubelet_of(config).get("cgroupDriver") != CGROUPFS
    runc = {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": is_systemd}}
    runtime: dict[str, object] = {
        "containerd": {"default_runtime_name": "runc", "runtimes": {"runc": runc}},
        **({"cni": {"bin_dir": network_plugins}} if network_plugins else {}),
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
    major = None
    if has_systemd(host):
        major = major_of(run_command(host, [program_path(host, "containerd"), "--version"]))
    version = config_version(containerd_of(config), major)
    text = render_containerd_config(config, version, network_plugins_of(host))
    apply_file(host, CONFIG_FILE, text.encode(), PUBLIC, outcome)
    # containerd only warns about a missing directory; it is made so that a mirror can drop in.
    host.make_directory(REGISTRY_HOSTS)
    return outcome


def network_plugins_of(host: Host) -> str:
    """Return the directory that the image's CNI plugins are in, '' if it brings none."""
    for directory in NETWORK_PLUGINS:
        if is_regular_file(host, f"{directory}/{LOOPBACK}"):
            return directory
    return ""


def major_of(answer: str) -> int:
    """
    Return the major version in what `containerd --version` printed, 1 if it cannot be told.

    Upstream prints `containerd NAME v2.1.4 COMMIT`, Debian `containerd NAME 1.6.20~ds1 ...`.
    """
    for word in answer.split():
        number, dot, _ = word.removeprefix("v").partition(".")
        if dot and number.isascii() and number.isdigit():
            return int(number)
    return 1
