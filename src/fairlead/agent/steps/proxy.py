"""
The proxy environment of containerd and kubelet.

The addresses go into an EnvironmentFile that only root reads, never into Environment= lines:
systemd shows those to every user of the machine, and a proxy address may carry a password.
"""

from __future__ import annotations

from fairlead.agent.steps.one_line import one_line
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import drop_in_path, environment_line, has_systemd
from fairlead.agent.steps.write import PUBLIC, SECRET, apply_absence, apply_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

ENVIRONMENT_FILE = "/etc/fairlead/proxy.env"
UNITS_WITH_PROXY = ("containerd.service", "kubelet.service")
DROP_IN = f"[Service]\nEnvironmentFile={ENVIRONMENT_FILE}\n"


def render_proxy_environment(config: NodeConfig) -> str:
    """Return the EnvironmentFile, '' without a proxy. Programs differ on the case of the names."""
    no_proxy = config.texts("http_proxy_config.no_proxy_entries")
    values = {
        "http_proxy": config.text("http_proxy_config.http_proxy"),
        "https_proxy": config.text("http_proxy_config.https_proxy"),
        "no_proxy_entries": ",".join(no_proxy),
    }
    lines = []
    for field, value in values.items():
        if value:
            line = one_line(value, f"http_proxy_config.{field}")
            name = field.removesuffix("_entries")
            lines += [environment_line(name.upper(), line), environment_line(name, line)]
    return "".join(lines)


def apply_proxy(host: Host, config: NodeConfig) -> StepOutcome:
    """Give both services this config's proxies, or none."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    environment = render_proxy_environment(config)
    drop_ins = [drop_in_path(unit, "proxy") for unit in UNITS_WITH_PROXY]
    if environment:
        apply_file(host, ENVIRONMENT_FILE, environment.encode(), SECRET, outcome)
        for path in drop_ins:
            apply_file(host, path, DROP_IN.encode(), PUBLIC, outcome)
        return outcome
    # The drop-ins go first: a unit that names a missing file does not start.
    for path in (*drop_ins, ENVIRONMENT_FILE):
        apply_absence(host, path, outcome)
    return outcome
