"""
What other people's programs expect of a machine, and we do not: a network, and its own host name.

Our own stages run as early as their inputs are there. Bootstrap scripts and the kubelet were
written for machines that are up: they download, and they register under the host name, which
before cloud-init's network stage is still that of the image. That stage is ordered before
network-online.target everywhere, so reaching the target means both. Scripts also talk to services
over D-Bus, whose socket is there from basic.target on.

Every wait is bounded: a hook that hangs, or that waits for the agent's unit, must not be the end.
An agent that a hook runs itself is not let wait for what waits for the hook.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.agent.steps.systemd import run_command
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

NETWORK = "network-online.target"

# Its requirements are left alone: to ask for them again would hold the target back on systemd 257.
BASIC = ("--job-mode=ignore-requirements", "basic.target")

# A cloud's network takes seconds. Most of those that take longer never come.
MACHINE_DEADLINE_S = 60.0

OWN_GROUP = "/proc/self/cgroup"
# cloud-init.service in 22.4, cloud-init-network or -main.service in 25.1.
CLOUD_INIT = b"/cloud-init"
QUESTION_DEADLINE_S = 5.0

NAME_FILE = "/etc/hostname"
KERNEL_NAME = "/proc/sys/kernel/hostname"

# What cloud-init writes to the file it has given to the kernel just before. A name that DHCP gave
# stays another one for ever.
NAME_DEADLINE_S = 5.0
NAME_POLL_S = 0.1


def wait_for_network(host: Host) -> None:
    """Return when the network is there, asking for it if nobody did. Raises UnavailableError."""
    if does_network_wait_for_us(host):
        raise UnavailableError(f"{NETWORK} waits for cloud-init, and that for this process")
    _reach(host, (NETWORK,), MACHINE_DEADLINE_S)


def does_network_wait_for_us(host: Host) -> bool:
    """Say whether a hook of cloud-init runs this process before there is a network."""
    if CLOUD_INIT not in (find_file(host, OWN_GROUP) or b""):
        return False
    question = ["systemctl", "is-active", "--quiet", NETWORK]
    return host.run(question, deadline_s=QUESTION_DEADLINE_S).exit_code != 0


def wait_for_boot(host: Host) -> None:
    """Return when network and basic system are there. Raises UnavailableError."""
    end_ns = host.monotonic_ns() + int(MACHINE_DEADLINE_S * NS_PER_S)
    wait_for_network(host)
    _reach(host, BASIC, max(1.0, (end_ns - host.monotonic_ns()) / NS_PER_S))


def _reach(host: Host, words: tuple[str, ...], deadline_s: float) -> None:
    try:
        # Ends when the target is reached: one process, however long it takes.
        run_command(host, ["systemctl", "start", *words], deadline_s)
    except UnavailableError as error:
        raise UnavailableError(f"{words[-1]} was not reached: {error}") from error


def wait_for_host_name(host: Host) -> str:
    """Return the host name once it is the one in /etc/hostname; UnavailableError if it stays."""
    end_ns = host.monotonic_ns() + int(NAME_DEADLINE_S * NS_PER_S)
    while True:
        wanted, found = _first_line(host, NAME_FILE), host_name(host)
        if wanted in ("", found):
            return found
        if host.monotonic_ns() >= end_ns:
            raise UnavailableError(
                f"the host name is {found!r} and {NAME_FILE} says {wanted!r} "
                f"after {NAME_DEADLINE_S:g} s"
            )
        host.sleep(NAME_POLL_S)


def host_name(host: Host) -> str:
    """Return what programs get for `hostname`."""
    return _first_line(host, KERNEL_NAME)


def _first_line(host: Host, path: str) -> str:
    text = find_file(host, path) or b""
    return text.decode("utf-8", "replace").partition("\n")[0].strip()
