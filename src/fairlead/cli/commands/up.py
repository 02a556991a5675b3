"""`fairlead up` and `fairlead down`: the embedded control plane, and its end."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.confirm import DECLINED, is_agreed
from fairlead.cli.failure import print_error
from fairlead.cli.flags import add_form, directory
from fairlead.cli.output import STATE_PATH
from fairlead.cli.request import write_json
from fairlead.cli.screens.show import is_terminal
from fairlead.embedded.state_directory import StateDirectory, find_state_directory
from fairlead.errors import ConflictError, InputError, UnavailableError

if TYPE_CHECKING:
    import subprocess

    from fairlead.embedded.machines.kind import MachineKind
    from fairlead.embedded.serve.client import Client

UP_EXAMPLE = """\
example: a control plane with a pool of three, in the background; then a look at it; then its end
  fairlead up --detach
  fairlead pool list
  fairlead down

The first time there is no pool, so one of three is made: the document that
`fairlead pool show workers --yaml` prints. Started again, it goes on where it was; machines live
on while no control plane runs. A second `up` shows the control plane that runs already.
"""

DOWN_EXAMPLE = """\
example: stop it, and remove every machine and all state
  fairlead down --purge --yes
"""

# Seconds for three nodes to be ready: a few hundred milliseconds each, and a busy computer.
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
LOOK_S = 0.1


def add_up(parser: ArgumentParser) -> None:
    """Add the flags of `up`."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = UP_EXAMPLE
    _add_state(parser)
    parser.add_argument(
        "-f", "--file", type=Path, action="append", default=[], help="documents to apply at start"
    )
    parser.add_argument("--empty", action="store_true", help="do not make a first pool")
    parser.add_argument("--detach", action="store_true", help="return once every pool is ready")
    parser.add_argument("--no-view", action="store_true", help="lines instead of a live screen")
    parser.add_argument(
        "--timeout",
        type=float,
        default=READY_TIMEOUT_S,
        metavar="SECONDS",
        help=f"how long --detach waits (default: {READY_TIMEOUT_S:.0f})",
    )
    parser.add_argument(
        "--machines",
        choices=("directory", "nspawn"),
        default="directory",
        help="nspawn boots real systemd and cloud-init, needs root and --image",
    )
    parser.add_argument(
        "--image",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="root of the machines; given again: layers, the first on top",
    )
    add_form(parser)
    parser.set_defaults(run=_up)


def add_down(parser: ArgumentParser) -> None:
    """Add the flags of `down`."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = DOWN_EXAMPLE
    _add_state(parser)
    parser.add_argument(
        "--purge", action="store_true", help="remove every machine and all state as well"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_form(parser)
    parser.set_defaults(run=_down)


def _add_state(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--state",
        type=directory,
        metavar="DIR",
        help="state directory (default: $FAIRLEAD_STATE, else ~/.local/state/fairlead)",
    )


def _up(arguments: Namespace) -> int:
    from fairlead.embedded.store.claim import refuse_unsafe

    directory = find_state_directory(arguments.state)
    if directory.path.exists():
        refuse_unsafe(directory)  # whoever answers there may be somebody else's
    if is_running(directory):
        return _show_running(directory, arguments)
    if arguments.detach:
        return _start_detached(directory, arguments)
    from fairlead.cli.commands.up_here import run_here

    return run_here(directory, make_kind(directory, arguments), arguments)


def make_kind(directory: StateDirectory, arguments: Namespace) -> MachineKind:
    """Return the kind of machines that was asked for. Raises InputError if it cannot be had."""
    if arguments.machines == "directory":
        from fairlead.embedded.machines.directory import DirectoryMachines

        return DirectoryMachines(directory.machines)
    if os.geteuid() != 0:
        raise InputError("--machines nspawn needs root", hint="directory machines need none")
    if not arguments.image:
        raise InputError(
            "--machines nspawn needs --image DIR",
            hint="docs/howto/bake-an-image.md makes one",
        )
    from fairlead.embedded.machines.nspawn import NspawnMachines

    return NspawnMachines(directory.machines, tuple(arguments.image))


def make_client(directory: StateDirectory) -> Client:
    """Return the way to the control plane. Imported late: `--help` must not wait for HTTP."""
    from fairlead.embedded.serve.client import Client

    STATE_PATH.set(str(directory.path))
    return Client(directory, on_wait=print_error)


def is_running(directory: StateDirectory) -> bool:
    """Say whether a control plane runs here. Raises UnavailableError if it does not answer."""
    from fairlead.embedded.serve.client import NotRunningError

    try:
        make_client(directory).health()
    except NotRunningError:
        return False
    return True


def _show_running(directory: StateDirectory, arguments: Namespace) -> int:
    client = make_client(directory)
    sys.stderr.write(f"a control plane runs already (process {client.health().pid})\n")
    from fairlead.cli.commands.up_view import watch

    if arguments.file:
        raise ConflictError("documents are applied to it with `fairlead apply -f FILE`")
    if arguments.detach or arguments.no_view or not is_terminal(sys.stdout):
        _show_ready(client, arguments)
    else:
        watch(client)
    return 0


def _show_ready(client: Client, arguments: Namespace) -> None:
    from fairlead.cli.commands.up_view import print_fields, print_overview, wait_until_ready

    wait_until_ready(client, arguments.timeout)
    if arguments.json:
        print_fields(client)
    else:
        print_overview(client)


def _start_detached(directory: StateDirectory, arguments: Namespace) -> int:
    import subprocess

    from fairlead.embedded.store.claim import claim

    claim(directory)
    words = [sys.executable, "-m", "fairlead", "up", "--no-view", "--state", str(directory.path)]
    words += ["--machines", arguments.machines]
    words += [word for layer in arguments.image for word in ("--image", str(layer.absolute()))]
    words += [word for file in arguments.file for word in ("--file", str(file.absolute()))]
    words += ["--empty"] if arguments.empty else []
    with directory.log.open("ab") as log:
        directory.log.chmod(0o600)
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    client = make_client(directory)
    _wait_for_answer(client, process, directory)
    _show_ready(client, arguments)
    return 0


def _wait_for_answer(
    client: Client, process: subprocess.Popen[bytes], directory: StateDirectory
) -> None:
    end = time.monotonic() + STOP_TIMEOUT_S
    while time.monotonic() < end:
        try:
            client.health()
        except UnavailableError:
            if process.poll() is not None:
                break
            time.sleep(LOOK_S)
        else:
            return
    raise UnavailableError(f"the control plane did not start; its last words: {_tail(directory)}")


def _tail(directory: StateDirectory) -> str:
    lines = directory.log.read_text(errors="replace").splitlines() if directory.log.exists() else []
    # Without its time: it was a moment ago.
    return re.sub(r"^\S+Z ", "", lines[-1]) if lines else f"none, see {directory.log}"


def _down(arguments: Namespace) -> int:
    from fairlead.embedded.store.claim import is_ours

    directory = find_state_directory(arguments.state)
    if arguments.purge and not is_ours(directory):
        raise InputError(f"{directory.path} holds no control plane", hint="nothing was removed")
    question = f"remove every machine and all state in {directory.path}?"
    if arguments.purge and not is_agreed(arguments, question):
        return DECLINED
    is_stopped = _stop(directory)
    left = _purge(directory) if arguments.purge else ()
    if arguments.json:
        removed = str(directory.path) if arguments.purge else ""
        told = {"left": [str(path) for path in left]} if left else {}
        write_json({"stopped": is_stopped, "removed": removed, **told})
    else:
        sys.stderr.write(_farewell(directory, is_stopped=is_stopped, is_purged=arguments.purge))
        for path in left:
            sys.stderr.write(f"left: {path}, which no control plane made\n")
    return 0


def _purge(directory: StateDirectory) -> tuple[Path, ...]:
    from fairlead.embedded.serve.purge import purge

    return purge(directory)


def _farewell(directory: StateDirectory, *, is_stopped: bool, is_purged: bool) -> str:
    if is_purged:
        return f"removed {directory.path}\n"
    if not is_stopped:
        return f"no control plane runs in {directory.path}\n"
    return "stopped; machines and state stay: `fairlead up` goes on with them\n"


def _stop(directory: StateDirectory) -> bool:
    """Stop the control plane and wait until it is gone; say whether there was one."""
    from fairlead.embedded.serve.client import NotRunningError

    client = make_client(directory)
    try:
        process = client.health().pid
        client.stop()
    except NotRunningError:
        found = _stop_by_lock(directory)
        if found is None:
            return False
        process = found
    end = time.monotonic() + STOP_TIMEOUT_S
    while _lives(process):
        if time.monotonic() > end:
            raise UnavailableError(f"process {process} does not end; kill -9 is safe")
        time.sleep(LOOK_S)
    return True


def _stop_by_lock(directory: StateDirectory) -> int | None:
    """Ask a control plane to end that no socket leads to, but the lock does; return its process."""
    from fairlead.embedded.store.lock import find_owner

    process = find_owner(directory)
    if process is not None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    return process


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's, and there
        pass
    # A child that ended and was not waited for is gone for our purpose.
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
