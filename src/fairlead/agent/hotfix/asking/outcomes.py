"""
What an answer of the hotfix service means: an outcome, and what becomes of the pointer file.

The table is spec/hotfix.md section 2. Where the image has a root of trust, nothing is written that
signed metadata does not authorise, and a version that was withdrawn is a tombstone wherever it was
named.
"""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.files import find_file, write_atomically
from fairlead.agent.hotfix.asking.answered import Rejected, Served, Unreachable
from fairlead.agent.hotfix.asking.seen_file import update_in
from fairlead.agent.hotfix.asking.trusted import SIGNED, find_verified, trust_of, verify_and_keep
from fairlead.contract.hotfix.pointer import parse_pointer, render_pointer, resolve
from fairlead.contract.image_version import WHITE_SPACE, base_of
from fairlead.errors import InputError
from fairlead.trust.refused import RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot
    from fairlead.trust.verify import Verified

    Hotfixes = dict[str, str | None]

LPS_READ = "lpsRead"
NO_HOTFIX_FOR_BASE = "noHotfixForBase"
NO_HOTFIX_AVAILABLE = "noHotfixAvailable"
ATTESTATION_REJECTED = "attestationRejected"
CUSTOM_DATA_FALLBACK = "customDataFallback"
NOT_TRUSTED = "notTrusted"
FAILED = "failed"

# Outcomes that somebody must look at; the others are a quiet fleet.
ERROR_OUTCOMES = (FAILED, ATTESTATION_REJECTED, NOT_TRUSTED)

# Outcomes after which the pointer file holds what was heard.
WRITTEN = (LPS_READ, NO_HOTFIX_FOR_BASE, CUSTOM_DATA_FALLBACK)

# What the service can say, by gRPC status name; any other is as if it could not be reached.
REJECTIONS = {
    "Unauthenticated": ATTESTATION_REJECTED,
    "PermissionDenied": ATTESTATION_REJECTED,
    "NotFound": NO_HOTFIX_AVAILABLE,
    "InvalidArgument": FAILED,
    "ResourceExhausted": FAILED,
}

# Why a pointer is not believed, beside the words of trust/refused.py.
UNSIGNED = "unsigned"
NOT_LISTED = "not-listed"

POINTER_MODE = 0o644


class Checked:
    """How the check ended, and why."""

    __slots__ = ("outcome", "reason")

    def __init__(self, outcome: str, reason: str = "") -> None:
        self.outcome = outcome
        self.reason = reason


def take_answer(boot: Boot, answer: Served | Rejected | Unreachable, end_ns: int) -> Checked:
    """
    Turn an answer into an outcome; the pointer file is written as the outcome says.

    end_ns: when checking signatures must be over, on the host's monotonic clock. Raises OSError if
    something cannot be read or written.
    """
    if isinstance(answer, Rejected):
        outcome = REJECTIONS.get(answer.status)
        if outcome is not None:
            return Checked(outcome, answer.status)
        answer = Unreachable(answer.status)
    try:
        if isinstance(answer, Unreachable):
            return _fall_back(boot, answer.reason)
        return _take_body(boot, answer.body, end_ns)
    except RefusedError as error:
        return Checked(NOT_TRUSTED, str(error))


def _take_body(boot: Boot, body: bytes, end_ns: int) -> Checked:
    if not body.strip():
        return Checked(NO_HOTFIX_AVAILABLE, "empty answer")
    served = parse_pointer(body)
    if served.problem:
        return Checked(FAILED, f"malformed answer: {served.problem}")
    hotfixes = served.hotfixes
    if trust_of(boot.run) == SIGNED:
        try:
            hotfixes = _authorised(boot, body, hotfixes, end_ns)
        except InputError as error:
            return Checked(FAILED, f"malformed answer: {error}")
    if not hotfixes:
        return Checked(NO_HOTFIX_AVAILABLE, _withdraw(boot) or "no hotfix is published")
    _write_pointer(boot.run, hotfixes)
    has_entry = base_of(__version__) in hotfixes
    return Checked(LPS_READ if has_entry else NO_HOTFIX_FOR_BASE)


def _authorised(boot: Boot, body: bytes, hotfixes: Hotfixes, end_ns: int) -> Hotfixes:
    """Return what of an answer its signed metadata authorises. Raises RefusedError."""
    update = update_in(body)
    if update is not None:
        return _allowed(verify_and_keep(boot, update, end_ns), hotfixes)
    if hotfixes:
        raise RefusedError(UNSIGNED, "the answer names fixes, and no signed metadata with them")
    return hotfixes


def _allowed(verified: Verified, hotfixes: Hotfixes) -> Hotfixes:
    """Return these with tombstones for what was withdrawn. Ours must be listed."""
    targets = verified.targets
    found: Hotfixes = {
        base: None if (version or "").strip(WHITE_SPACE) in targets.revoked else version
        for base, version in hotfixes.items()
    }
    own = (found.get(base_of(__version__) or "") or "").strip(WHITE_SPACE)
    if own and not any(package.version == own for package in targets.packages):
        raise RefusedError(NOT_LISTED, f"{own} is wanted, and no signed package has this version")
    return found


def _withdraw(boot: Boot) -> str:
    """Make a pointer that names a withdrawn version a tombstone; return that in words, or ''."""
    base = base_of(__version__)
    if boot.verified is None or base is None:
        return ""
    pointer = parse_pointer(find_file(boot.run.host, boot.run.layout.pointer) or b"")
    named = resolve(pointer, __version__)
    if not named or named not in boot.verified.targets.revoked:
        return ""
    _write_pointer(boot.run, {**pointer.hotfixes, base: None})
    return f"{named} was withdrawn"


def _fall_back(boot: Boot, reason: str) -> Checked:
    hotfixes = None
    if boot.find_config_text() is not None:
        hotfixes = boot.read_config().cold_start_hotfixes
    if not hotfixes:
        return Checked(FAILED, reason)
    if trust_of(boot.run) == SIGNED:
        verified = find_verified(boot)
        if verified is None:
            problem = "custom data names fixes, and no signed metadata was ever verified here"
            raise RefusedError(UNSIGNED, f"{problem}; the service: {reason}")
        hotfixes = _allowed(verified, hotfixes)
    _write_pointer(boot.run, hotfixes)
    return Checked(CUSTOM_DATA_FALLBACK, reason)


def _write_pointer(run: Run, hotfixes: Hotfixes) -> None:
    path = run.layout.pointer
    mode = run.host.file_mode(path)
    pointer = parse_pointer(find_file(run.host, path) or b"")
    content = render_pointer(pointer, hotfixes)
    write_atomically(run.host, path, content, POINTER_MODE if mode is None else mode & 0o777)
