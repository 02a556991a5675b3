"""
Talking to systemd, and writing text that it reads back unchanged.

Two quotings that look alike and are not. In a command line of a unit, `%` and `$` expand and a
backslash escapes. In an EnvironmentFile nothing expands, and a backslash escapes only the
characters a shell would mind (systemd.exec(5), systemd.service(5)).
"""

from __future__ import annotations

from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

UNITS = "/etc/systemd/system"

# A reload or an enable is milliseconds of work; a manager that is busy with a first boot may
# take seconds. Beyond this it hangs.
COMMAND_DEADLINE_S = 30.0

# Enough of a program's last line to know what it complained about.
LONGEST_COMPLAINT = 200


def has_systemd(host: Host) -> bool:
    """Say whether the host is a machine that systemd runs; sd_booted(3) looks at the same path."""
    return not host.is_directory and host.file_mode("/run/systemd/system") is not None


def run_command(host: Host, command: list[str], deadline_s: float = COMMAND_DEADLINE_S) -> str:
    """Run a program that must end with 0 in time and return what it printed."""
    try:
        finished = host.run(command, deadline_s=deadline_s)
    except FileNotFoundError as error:
        raise UnavailableError(f"{command[0]} is not installed on this machine") from error
    output = finished.output.decode("utf-8", "replace")
    if finished.is_timeout:
        raise UnavailableError(f"`{' '.join(command)}` was not done after {deadline_s:g} s")
    if finished.exit_code != 0:
        complaint = output.strip().rpartition("\n")[2][:LONGEST_COMPLAINT]
        raise UnavailableError(
            f"`{' '.join(command)}` ended with {finished.exit_code}: {complaint or 'no output'}"
        )
    return output


def unit_properties(host: Host, unit: str, names: str) -> dict[str, str]:
    """Return these properties (comma-separated names) of a unit as systemd sees it."""
    output = run_command(host, ["systemctl", "show", f"--property={names}", unit])
    return _properties_in(output)


def units_properties(host: Host, names: str, *units: str) -> dict[str, dict[str, str]]:
    """Return these properties, Id among them, of several units by their names."""
    output = run_command(host, ["systemctl", "show", f"--property={names}", *units])
    blocks = [_properties_in(block) for block in output.split("\n\n")]
    return {block.get("Id", ""): block for block in blocks}


def _properties_in(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def drop_in_path(unit: str, topic: str) -> str:
    """
    Return the path of our drop-in about a topic.

    20 sorts after kubeadm's 10-kubeadm.conf, which would take our command line back, and before
    an operator's own file.
    """
    return f"{UNITS}/{unit}.d/20-fairlead-{topic}.conf"


def command_word(text: str) -> str:
    """Return one line of text as one word of an ExecStart= line."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


def environment_line(name: str, value: str) -> str:
    """Return a line of an EnvironmentFile that sets the name to this one line of text."""
    for character in ("\\", '"', "`", "$"):
        value = value.replace(character, "\\" + character)
    return f'{name}="{value}"\n'
