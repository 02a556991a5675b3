"""
containerd's config.toml, in the format of the containerd that is there.

Version 3 came with containerd 2.0 and renamed the plugins. 2.x still reads version 2, so version
2 is the answer when nobody can be asked.
"""

from __future__ import annotations

from fairlead.agent.steps.one_line import one_line
from fairlead.agent.steps.programs import program_path
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd, run_command
from fairlead.agent.steps.write import PUBLIC, apply_file
from fairlead.contract.json_text import encode_json
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

# The cgroup driver must be the kubelet's: systemd owns the tree on every image we support.
_RUNTIME = """\
[plugins."{plugin}".containerd]
default_runtime_name = "runc"
[plugins."{plugin}".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."{plugin}".containerd.runtimes.runc.options]
SystemdCgroup = true
"""
_REGISTRY = """\
[plugins."{plugin}".registry]
config_path = {hosts}
"""


def render_containerd_config(config: NodeConfig, version: int) -> str:
    """Return config.toml in format version 2 or 3."""
    sandbox = one_line(config.text(SANDBOX_FIELD), SANDBOX_FIELD)
    root = one_line(config.text(ROOT_FIELD), ROOT_FIELD)
    if root and not root.startswith("/"):
        raise InputError("not an absolute path", field=ROOT_FIELD)
    top = f"version = {version}\n" + (f"root = {_toml_text(root)}\n" if root else "")
    hosts = _toml_text(REGISTRY_HOSTS)
    if version == 2:  # noqa: PLR2004 - a version is compared with a number
        plugin = "io.containerd.grpc.v1.cri"
        image = f'[plugins."{plugin}"]\nsandbox_image = {_toml_text(sandbox)}\n' if sandbox else ""
        registry = _REGISTRY.format(plugin=plugin, hosts=hosts)
        return top + image + _RUNTIME.format(plugin=plugin) + registry
    plugin = "io.containerd.cri.v1.images"
    image = f'[plugins."{plugin}".pinned_images]\nsandbox = {_toml_text(sandbox)}\n'
    registry = _REGISTRY.format(plugin=plugin, hosts=hosts)
    runtime = _RUNTIME.format(plugin="io.containerd.cri.v1.runtime")
    return top + (image if sandbox else "") + registry + runtime


def apply_containerd_config(host: Host, config: NodeConfig) -> StepOutcome:
    """Leave a config.toml that this machine's containerd reads."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    version = 2
    if has_systemd(host):
        major = major_of(run_command(host, [program_path(host, "containerd"), "--version"]))
        version = 3 if major >= FIRST_MAJOR_WITH_VERSION_3 else 2
    text = render_containerd_config(config, version)
    apply_file(host, CONFIG_FILE, text.encode(), PUBLIC, outcome)
    # containerd only warns about a missing directory; it is made so that a mirror can drop in.
    host.make_directory(REGISTRY_HOSTS)
    return outcome


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


def _toml_text(value: str) -> str:
    # A basic string of TOML is a JSON string, except for surrogate pairs: those stay characters.
    return encode_json(value, ascii_only=False)
