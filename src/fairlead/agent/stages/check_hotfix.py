"""
Ask what fix is meant for this image base, and keep the answer in the pointer file.

The outcome table is spec/hotfix.md section 2. Nothing here can fail a boot: the command exits 0
whatever happens, and says what happened as an event.
"""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.files import find_file, write_atomically
from fairlead.agent.run import ERROR, INFORMATIONAL
from fairlead.agent.stages.read_features import may_check_hotfix
from fairlead.agent.stages.stage import done, skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot, StageEnd

LPS_READ = "lpsRead"
NO_HOTFIX_FOR_BASE = "noHotfixForBase"
NO_HOTFIX_AVAILABLE = "noHotfixAvailable"
ATTESTATION_REJECTED = "attestationRejected"
CUSTOM_DATA_FALLBACK = "customDataFallback"
FAILED = "failed"

# Outcomes that somebody must look at; the others are a quiet fleet.
ERROR_OUTCOMES = (FAILED, ATTESTATION_REJECTED)

# What the service can say, by gRPC status name; a transport maps its wire to these words.
REJECTIONS = {
    "Unauthenticated": ATTESTATION_REJECTED,
    "PermissionDenied": ATTESTATION_REJECTED,
    "NotFound": NO_HOTFIX_AVAILABLE,
    "InvalidArgument": FAILED,
    "ResourceExhausted": FAILED,
}

POINTER_MODE = 0o644

# At most 8 s from the feature flag to a decision: spec/hotfix.md section 3.
DECIDE_DEADLINE_S = 8.0


class Served:
    """The service answered with a pointer document."""

    __slots__ = ("body",)

    def __init__(self, body: bytes) -> None:
        self.body = body


class Rejected:
    """The service answered and refused; `status` is a gRPC status name."""

    __slots__ = ("status",)

    def __init__(self, status: str) -> None:
        self.status = status


class Unreachable:
    """There was no usable answer: no endpoint, no trust, no network, no time."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Checked:
    """How the check ended, and why."""

    __slots__ = ("outcome", "reason")

    def __init__(self, outcome: str, reason: str = "") -> None:
        self.outcome = outcome
        self.reason = reason


def check_hotfix(boot: Boot) -> StageEnd:
    """Refresh the pointer file if the feature is on; afterwards an event names the outcome."""
    if not may_check_hotfix(boot):
        return skipped("the hotfix feature is off")
    if boot.foreign_agent:
        from fairlead.agent.stages.other_agent import ask_foreign_agent

        return ask_foreign_agent(boot, "check-hotfix", DECIDE_DEADLINE_S)
    checked = refresh_pointer(boot)
    cause = f"{checked.outcome}: {checked.reason}" if checked.reason else checked.outcome
    return done(cause)


def refresh_pointer(boot: Boot) -> Checked:
    """Ask, write the pointer file if the answer says so, and leave an event. Never raises."""
    run = boot.run
    start_ns = run.host.monotonic_ns()
    try:
        checked = take_answer(boot, fetch_answer(boot))
    except OSError as error:
        checked = Checked(FAILED, str(error))
    message = f"check-hotfix outcome={checked.outcome}"
    if checked.reason:
        message += f" error={checked.reason}"
    level = ERROR if checked.outcome in ERROR_OUTCOMES else INFORMATIONAL
    run.event("CheckHotfix", message, level, start_ns)
    run.log("INFO", "check-hotfix", outcome=checked.outcome, reason=checked.reason)
    run.record.note("check_hotfix", checked.outcome)
    return checked


def fetch_answer(boot: Boot) -> Served | Rejected | Unreachable:
    """Return what the service says. Refuses to ask where the answer could not be verified."""
    endpoint, ca = _endpoint_and_ca(boot)
    if not endpoint:
        return Unreachable("no API server name in the node config or NBC command")
    if not ca:
        return Unreachable("no cluster CA: an answer could not be verified")
    return Unreachable("this agent carries no transport to the hotfix service")


def take_answer(boot: Boot, answer: Served | Rejected | Unreachable) -> Checked:
    """Turn an answer into an outcome; the pointer file is written as the outcome says."""
    if isinstance(answer, Rejected):
        outcome = REJECTIONS.get(answer.status)
        if outcome is not None:
            return Checked(outcome, answer.status)
        answer = Unreachable(answer.status)
    if isinstance(answer, Unreachable):
        return _fall_back(boot, answer.reason)
    return _take_pointer(boot, answer.body)


def _take_pointer(boot: Boot, body: bytes) -> Checked:
    from fairlead.contract.hotfix.pointer import parse_pointer
    from fairlead.contract.image_version import base_of

    if not body.strip():
        return Checked(NO_HOTFIX_AVAILABLE, "empty answer")
    served = parse_pointer(body)
    if served.problem:
        return Checked(FAILED, f"malformed answer: {served.problem}")
    if not served.hotfixes:
        return Checked(NO_HOTFIX_AVAILABLE, "no hotfix is published")
    _write_pointer(boot.run, served.hotfixes)
    has_entry = base_of(__version__) in served.hotfixes
    return Checked(LPS_READ if has_entry else NO_HOTFIX_FOR_BASE)


def _fall_back(boot: Boot, reason: str) -> Checked:
    hotfixes = None
    if boot.find_config_text() is not None:
        hotfixes = boot.read_config().cold_start_hotfixes
    if not hotfixes:
        return Checked(FAILED, reason)
    _write_pointer(boot.run, hotfixes)
    return Checked(CUSTOM_DATA_FALLBACK, reason)


def _write_pointer(run: Run, hotfixes: dict[str, str | None]) -> None:
    from fairlead.contract.hotfix.pointer import parse_pointer, render_pointer

    path = run.layout.pointer
    mode = run.host.file_mode(path)
    pointer = parse_pointer(find_file(run.host, path) or b"")
    content = render_pointer(pointer, hotfixes)
    write_atomically(run.host, path, content, POINTER_MODE if mode is None else mode & 0o777)


def _endpoint_and_ca(boot: Boot) -> tuple[str, str]:
    if boot.find_config_text() is not None:
        config = boot.read_config().config
        return config.text("api_server_config.api_server_name"), config.text("kubernetes_ca_cert")
    text = find_file(boot.run.host, boot.inputs.nbc_command)
    if text is None:
        return "", ""
    from fairlead.contract.nbc_command import environment_of_nbc_command

    variables = environment_of_nbc_command(text.decode("utf-8", "surrogateescape"))
    return variables.get("API_SERVER_NAME", ""), variables.get("KUBE_CA_CRT", "")
