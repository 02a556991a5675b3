"""
Every command of the agent, and the door where its errors become an exit code.

stdout carries only what a caller parses. Modules that one command needs are imported in it: a
waiter must not pay for a boot.
"""

from __future__ import annotations

import posix as os
import sys

from fairlead import __version__
from fairlead.agent.arguments import PATH_FLAGS, parse_arguments, usage
from fairlead.agent.host import RealHost
from fairlead.agent.layout import Layout, environment_overrides, find_layout_name
from fairlead.agent.process import SIGNAL_EXIT_BASE, SIGTERM, TerminatedError, die_terminated
from fairlead.agent.run import ERROR, INFORMATIONAL, Run
from fairlead.contract.json_text import encode_json
from fairlead.errors import FairleadError, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.arguments import Arguments
    from fairlead.agent.stages.stage import Boot, Inputs, Stage

# A root becomes part of a shell line that scripts run, where these need no quoting.
ROOT_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:,="

LAYOUTS = ("aks", "fairlead")


def main(trouble: list[str] | None = None) -> int:
    """
    Run the command that sys.argv names; the process exits with what this returns.

    trouble: why the bundle is not used, in whole or for a module; it may grow while we run.
    """
    try:
        return run_command(sys.argv[1:], trouble)
    except TerminatedError:
        # Without a verdict, like every run that was killed: it may be tried again.
        die_terminated()
        return SIGNAL_EXIT_BASE + SIGTERM


def run_command(words: list[str], trouble: list[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises."""
    if words and words[0] in ("--help", "-h", "help"):
        print_out(usage())
        return 0
    if "--help" in words:
        print_out(usage())
        return 0
    if words and words[0] == "--version":
        words = ["version", *words[1:]]
    run = None
    try:
        arguments = parse_arguments(words)
        if arguments.command == "version":
            print_out(__version__ + "\n")
            return 0
        run = start_run(arguments)
        run.bundle_trouble = [] if trouble is None else trouble
        return COMMANDS[arguments.command](run, arguments)
    except FairleadError as error:
        print_error(str(error))
    except Exception as error:  # noqa: BLE001 - door 3: a defect in a command ends as an exit code
        cause = str(error) if isinstance(error, OSError) else f"defect: {error!r}"
        print_error(cause)
        if run is not None and words[0] in ("boot", "provision") and not run.is_dry:
            _leave_last_word(run, cause)
    return 1


def _leave_last_word(run: Run, cause: str) -> None:
    """Leave a verdict where the boot itself broke, so that whoever waits for one does not."""
    from fairlead.agent.report.status import NOT_STARTED, Outcome, publish

    try:
        publish(run, Outcome(NOT_STARTED, cause))
    except OSError as error:
        print_error(f"verdict not published: {error}")


def start_run(arguments: Arguments) -> Run:
    """Return the run that these arguments ask for: which host, which paths."""
    root = arguments.values.get("root", "")
    if root.strip(ROOT_CHARACTERS):
        raise InputError(f"--root {root!r} may hold letters, digits and /._-+@:,= only")
    host = RealHost(root)
    name = arguments.values.get("layout") or find_layout_name(host)
    if name not in LAYOUTS:
        raise InputError(f"--layout {name!r} is not known, expected aks or fairlead")
    overrides = environment_overrides(host.environment)
    for flag in PATH_FLAGS:
        if arguments.values.get(flag):
            overrides[flag.replace("-", "_")] = host.node_path(arguments.values[flag])
    is_dry = "dry-run" in arguments.switches
    return Run(host, Layout(name, overrides), os.urandom(8).hex(), is_dry=is_dry)


def _boot(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.boot_stages import BOOT_STAGES
    from fairlead.agent.early.find_document import find_boot_inputs
    from fairlead.agent.once import take_turn

    _refuse_rest(arguments)
    turn = take_turn(run)
    inputs = find_boot_inputs(run)
    if inputs is None:
        run.log("INFO", "no node config, NBC command or boot document: nothing to do")
        return 0
    boot = _new_boot(run, inputs, arguments)
    program = run.host.environment.get("BIN_PATH", "")
    if program and not _is_this_program(program):
        boot.foreign_agent = program
    return _run_once(boot, BOOT_STAGES, arguments, turn)


def _change(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.early.change import boot_by_service, put_document

    _refuse_rest(arguments)
    if not arguments.values.get("from"):
        raise InputError("--from FILE is required: the boot document to change to")
    is_new = put_document(run, run.host.read_file(arguments.values["from"]))
    if run.host.is_directory:
        return _boot(run, arguments)  # nothing is started there, so it is done here
    return boot_by_service(run, is_new=is_new)


def _run_once(boot: Boot, stages: tuple[Stage, ...], arguments: Arguments, turn: int | None) -> int:
    """Run these stages in our turn, unless the document had its run; end as that run did."""
    from fairlead.agent.boot import report_back, run_boot
    from fairlead.agent.once import digest_of, find_verdict, keep_verdict, leave_turn

    run = boot.run
    digest = digest_of(run, boot.inputs)
    verdict = None if "again" in arguments.switches else find_verdict(run, digest)
    if verdict is not None:
        return verdict
    exit_code = run_boot(boot, stages, __version__)
    keep_verdict(run, digest, exit_code)
    leave_turn(turn)
    report_back(run)
    return exit_code


def _is_this_program(path: str) -> bool:
    from os.path import realpath

    return realpath(path) == realpath(sys.argv[0])


def _find_document(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.early.find_document import find_boot_inputs

    _refuse_rest(arguments)
    return 0 if find_boot_inputs(run, looks_again=True) else 1


def _conclude(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.boot import report_back
    from fairlead.agent.once import leave_turn, take_turn
    from fairlead.agent.report.conclude import conclude

    _refuse_rest(arguments)
    turn = take_turn(run)
    exit_code = conclude(run, __version__)
    leave_turn(turn)
    if exit_code != 0:
        report_back(run)
    return exit_code


def _provision(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.stages.stage import Inputs

    _refuse_rest(arguments)
    given = [
        run.layout.node_config if "node-config" in arguments.values else "",
        run.layout.nbc_command if "nbc-command" in arguments.values else "",
    ]
    boot = _new_boot(run, Inputs(*given), arguments)
    if "dry-run" in arguments.switches:
        from fairlead.agent.dry_run import describe_provision

        print_out(describe_provision(boot, as_json="json" in arguments.switches))
        return 0
    from fairlead.agent.boot import PROVISION_STAGES, run_boot
    from fairlead.agent.once import has_turn_already, take_turn

    if has_turn_already(run):
        # Whoever started us keeps the verdict.
        return run_boot(boot, PROVISION_STAGES, __version__)
    turn = take_turn(run)
    if not any(given):
        # Stops, in turn; without a document there is no verdict to keep.
        return run_boot(boot, PROVISION_STAGES, __version__)
    return _run_once(boot, PROVISION_STAGES, arguments, turn)


def _provision_wait(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.report.status import find_status
    from fairlead.agent.wait import judge_status, wait_for_sentinel

    _refuse_rest(arguments)
    run.event("ProvisionWait", "Starting", INFORMATIONAL, run.started_ns)
    try:
        wait_for_sentinel(run.host, run.layout, _timeout_s(arguments))
        print_out((find_status(run.host, run.layout) or b"").decode("utf-8", "replace"))
        judge_status(run.host, run.layout)
    except FairleadError as error:
        message = f"fairlead-node exited with error {error}"
        run.event("ProvisionWait", message, ERROR, run.started_ns)
        print_error(str(error))
        return error.exit_code if error.exit_code == TIMED_OUT else 1
    run.event("ProvisionWait", "Completed", INFORMATIONAL, run.started_ns)
    return 0


# What UnavailableError says: nothing wrong was seen, but there was no answer in time.
TIMED_OUT = 4


def _check_hotfix(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.stages.fix_path import check_hotfix_alone
    from fairlead.agent.stages.stage import Inputs, find_inputs

    if arguments.rest:
        run.log("WARN", "check-hotfix takes no arguments, ignored", found=len(arguments.rest))
    try:
        check_hotfix_alone(_new_boot(run, find_inputs(run) or Inputs("", ""), arguments))
    except Exception as error:  # noqa: BLE001 - door 3: this command exits 0 whatever happens
        cause = str(error) if isinstance(error, (FairleadError, OSError)) else repr(error)
        message = f"check-hotfix outcome=failed error={cause}"
        run.event("CheckHotfix", message, ERROR, run.started_ns)
        run.log("WARN", "check-hotfix", outcome="failed", reason=cause)
    return 0


def _download_hotfix(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.stages.fix_path import download_hotfix_alone
    from fairlead.agent.stages.read_pointer import read_resolution
    from fairlead.agent.stages.stage import Inputs

    if arguments.rest:
        raise InputError(f"unexpected download-hotfix arguments: {' '.join(arguments.rest)}")
    boot = _new_boot(run, Inputs("", ""), arguments)
    if "dry-run" in arguments.switches:
        current = arguments.values.get("current-version", __version__)
        resolution = read_resolution(boot, current)
        print_out(encode_json(resolution.encode()) + "\n")
        return 0
    end = download_hotfix_alone(boot)
    run.log("INFO", "download-hotfix", outcome=end.outcome, cause=end.cause)
    return 0


def _report(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.report.waterfall import describe_runs

    _refuse_rest(arguments)
    options = arguments.switches
    print_out(
        describe_runs(run.host, run.layout, as_json="json" in options, all_runs="all" in options)
    )
    return 0


def _self_test(run: Run, arguments: Arguments) -> int:
    from fairlead.agent.self_test import prove_agent

    _refuse_rest(arguments)
    print_out(prove_agent(run))
    return 0


COMMANDS = {
    "boot": _boot,
    "change": _change,
    "find-document": _find_document,
    "conclude": _conclude,
    "provision": _provision,
    "provision-wait": _provision_wait,
    "check-hotfix": _check_hotfix,
    "download-hotfix": _download_hotfix,
    "report": _report,
    "self-test": _self_test,
}


def _new_boot(run: Run, inputs: Inputs, arguments: Arguments) -> Boot:
    from fairlead.agent.stages.stage import Boot

    boot = Boot(run, inputs)
    boot.containerd_version = arguments.values.get("containerd-version")
    boot.program_flags = [
        f"--{name}={arguments.values[name]}"
        for name in ("root", "layout")
        if name in arguments.values
    ]
    return boot


def _refuse_rest(arguments: Arguments) -> None:
    if arguments.rest:
        raise InputError(f"unexpected {arguments.command} arguments: {' '.join(arguments.rest)}")


def _timeout_s(arguments: Arguments) -> float | None:
    text = arguments.values.get("timeout")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"--timeout {text!r} is not a number of seconds")
    return seconds


def print_out(text: str) -> None:
    """Write to stdout; a reader that went away is nobody's failure."""
    try:
        os.write(1, text.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        return


def print_error(text: str) -> None:
    """Write one line to stderr."""
    os.write(2, f"fairlead-node: {text}\n".encode("utf-8", "surrogateescape"))
