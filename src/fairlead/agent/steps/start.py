"""
Start containerd and kubelet, and wait until each answers.

A running service is restarted only if the files it reads differ from those it was started with.
The digest of those files is kept on disk, written after the start: a crash in between costs one
more restart, never a service that runs on old files.
"""

from __future__ import annotations

from fairlead.agent.files import find_file, write_atomically
from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.agent.steps import containerd_config, proxy, taken_files
from fairlead.agent.steps.kernel import ulimits
from fairlead.agent.steps.kubelet import flags as kubelet_flags
from fairlead.agent.steps.kubelet.certificates import certificate_files
from fairlead.agent.steps.one_line import is_made_of
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import (
    UNITS,
    drop_in_path,
    has_systemd,
    run_command,
    unit_properties,
)
from fairlead.agent.steps.units import CONTAINERD, KUBELET
from fairlead.agent.steps.watch import describe_state, last_words_of, watch_service
from fairlead.agent.steps.write import SECRET
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

# Where the digest of the files that a service was started with is kept, by unit.
STARTED_WITH = "/var/lib/fairlead/started-with"

# What each service reads when it starts, besides the machine's certificates.
FILES_READ = {
    CONTAINERD: (
        f"{UNITS}/{CONTAINERD}",
        drop_in_path(CONTAINERD, "proxy"),
        proxy.ENVIRONMENT_FILE,
        ulimits.DROP_IN,
        taken_files.CONTAINERD_CONFIG,
    ),
    KUBELET: (
        f"{UNITS}/{KUBELET}",
        drop_in_path(KUBELET, "proxy"),
        proxy.ENVIRONMENT_FILE,
        kubelet_flags.DROP_IN,
        taken_files.KUBELET_CONFIG,
        taken_files.CA_FILE,
        taken_files.BOOTSTRAP_KUBECONFIG,
        taken_files.CLIENT_CERTIFICATE,
    ),
}

# systemctl waits for a service to be ready; containerd with many snapshots takes seconds.
START_DEADLINE_S = 90.0

# After systemd calls it ready, the socket answers within milliseconds; a slow disk gets 30 s.
SOCKET_DEADLINE_S = 30.0

# The kubelet opens its health port after it has read the machine and asked containerd; the
# slowest cause is an API server that lets it wait for a certificate.
HEALTH_DEADLINE_S = 60.0

# Short against any of the waits, long against one probe.
POLL_S = 0.05

DEFAULT_HEALTH_PORT = "10248"
HEALTHY = 200


def apply_containerd_start(host: Host, config: NodeConfig) -> StepOutcome:
    """Have containerd running on this config and answering on its socket."""
    outcome = StepOutcome([], [], "")
    if not has_systemd(host):
        outcome.note = FILES_ONLY
        return outcome
    _start(host, CONTAINERD, config, outcome)
    socket = containerd_config.SOCKET
    _wait_for_answer(
        host, CONTAINERD, (socket, SOCKET_DEADLINE_S), lambda: host.can_connect(socket)
    )
    return outcome


def apply_kubelet_start(host: Host, config: NodeConfig) -> StepOutcome:
    """Have the kubelet running on this config and healthy."""
    outcome = StepOutcome([], [], "")
    if not has_systemd(host):
        outcome.note = FILES_ONLY
        return outcome
    _start(host, KUBELET, config, outcome)
    port = _health_port(config)
    if port == "0":
        outcome.note = "the config switches the kubelet's health port off: not waited for"
        return outcome
    url = f"http://127.0.0.1:{port}/healthz"
    _wait_for_answer(host, KUBELET, (url, HEALTH_DEADLINE_S), lambda: _is_healthy(host, url))
    return outcome


def wait_until(
    host: Host, deadline_s: float, is_there: Callable[[], bool], poll_s: float = POLL_S
) -> bool:
    """Ask until the answer is yes; False after the deadline. Asks at least once."""
    end_ns = host.monotonic_ns() + int(deadline_s * NS_PER_S)
    while not is_there():
        if host.monotonic_ns() >= end_ns:
            return False
        host.sleep(poll_s)
    return True


def _wait_for_answer(
    host: Host, unit: str, where_how_long: tuple[str, float], answers: Callable[[], bool]
) -> None:
    """Return when the service answers; raise at once if it dies, and when its time is over."""
    if answers():
        return
    watch = watch_service(host, unit)

    def is_there() -> bool:
        watch.refuse_death()
        return answers()

    where, deadline_s = where_how_long
    if not wait_until(host, deadline_s, is_there):
        state = unit_properties(host, unit, "ActiveState,SubState")
        raise UnavailableError(
            f"{unit} did not answer at {where} within {deadline_s:g} s; systemd says "
            f"{describe_state(state)}; see journalctl -u {unit}",
            said=last_words_of(host, unit),
        )


def _start(host: Host, unit: str, config: NodeConfig, outcome: StepOutcome) -> None:
    state = unit_properties(host, unit, "ActiveState")
    marker = f"{STARTED_WITH}/{unit}"
    digest = _digest_of_files(host, unit, config)
    is_active = state.get("ActiveState") == "active"
    if is_active and find_file(host, marker) == digest:
        outcome.already.append(f"{unit} runs on these files")
        return
    verb = "restart" if is_active else "start"
    try:
        run_command(host, ["systemctl", verb, unit], START_DEADLINE_S)
    except UnavailableError as error:
        raise UnavailableError(str(error), said=last_words_of(host, unit)) from error
    write_atomically(host, marker, digest, SECRET)
    outcome.changed.append(f"{verb}ed {unit}")


def _digest_of_files(host: Host, unit: str, config: NodeConfig) -> bytes:
    # Imported here: only images without scripts pay for it.
    import hashlib

    digest = hashlib.sha256()
    # A file of the pool's owner may be anything that a service reads, a drop-in included.
    of_pool = (file.path for file in taken_files.pool_files(config))
    for path in (*FILES_READ[unit], *certificate_files(config), *of_pool):
        content = find_file(host, path)
        digest.update(f"{path} {-1 if content is None else len(content)}\n".encode())
        digest.update(content or b"")
    return digest.hexdigest().encode() + b"\n"


def _health_port(config: NodeConfig) -> str:
    port = config.mapping(taken_files.FLAGS_FIELD).get("--healthz-port")
    return port if isinstance(port, str) and is_made_of(port, "0123456789") else DEFAULT_HEALTH_PORT


def _is_healthy(host: Host, url: str) -> bool:
    try:
        return host.fetch_status(url) == HEALTHY
    except OSError:
        return False
