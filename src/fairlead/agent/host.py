"""
The host: every way the agent touches the machine it runs on.

Paths are the node's own absolute paths; `--root DIR` puts them all below a directory. Operations
are single system effects, so that a fault-injecting host can stop between any two of them:
what must happen as a whole is composed in files.py. All file operations raise OSError.

Two implementations: RealHost here, and SimHost in fairlead.sim, which loses unsynced data on a
power cut. tests/conformance/test_hosts.py keeps them alike.

`posix` is the part of `os` that calls the system; the rest of `os` costs a fifth of a start.
"""

from __future__ import annotations

import posix as os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from fairlead.agent import process
    from fairlead.agent.hotfix.in_fork import Apart, Work
    from fairlead.agent.https_fetch import Request
    from fairlead.agent.network.grpc_call import UnaryCall
    from fairlead.agent.network.metadata_request import Question

    class Host(Protocol):
        """What stages and steps may do to a machine."""

        # The environment the agent was started with.
        environment: dict[str, str]

        # True if `--root DIR` was given: files only, no services, no kernel settings.
        is_directory: bool

        def real_path(self, path: str) -> str:
            """Return where a program outside the agent finds this path."""

        def read_file(self, path: str) -> bytes:
            """
            Return the whole of a plain file, of at most LARGEST_FILE bytes.

            A pipe, a device or a larger file raises OSError at once, as it does for every write:
            many of the agent's files lie where others may leave such things.
            """

        def write_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
            """Create or replace the file with exactly this mode. Not atomic."""

        def append_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
            """Append in one write; create with this mode if missing."""

        def rename(self, source: str, target: str) -> None: ...

        def create_link(self, source: str, target: str) -> None:
            """Give an existing file a second name; FileExistsError if the target exists."""

        def sync_directory(self, path: str) -> None:
            """Make renames, links and removals in this directory survive a power cut."""

        def remove(self, path: str) -> None: ...

        def make_directory(self, path: str) -> None:
            """Create the directory and its parents with mode 0755; fine if it exists."""

        def list_directory(self, path: str) -> list[str]: ...

        def file_mode(self, path: str) -> int | None:
            """Return st_mode (type and permissions, links followed), or None if missing."""

        def run(
            self,
            command: list[str],
            *,
            environment: dict[str, str] | None = None,
            deadline_s: float | None = None,
            on_output: process.OnOutput | None = None,
        ) -> process.Finished:
            """
            Run a program to its end and return its exit code and the last part of its output.

            `environment` None means the agent's own. After `deadline_s` the whole process
            group is killed; None waits without limit. A program that cannot be started raises
            OSError, as does a word or variable above 128 KiB; one with a NUL byte, ValueError.
            """

        def can_connect(self, path: str) -> bool:
            """Say whether something accepts connections on this Unix socket."""

        def converse(
            self, path: str, said: bytes, is_whole: Callable[[bytes], bool], *, deadline_s: float
        ) -> bytes:
            """
            Say this on a Unix socket; return what was answered by the time that it is whole.

            Less than that if the other side hangs up; OSError if it takes longer or is not there.
            """

        def fetch_status(
            self,
            url: str,
            *,
            ca_file: str = "",
            certificate_file: str = "",
            deadline_s: float = 2.0,
        ) -> int:
            """
            Return the HTTP status that a GET of the address answers with.

            The address carries a port. https:// needs `ca_file`; `certificate_file` '' asks as a
            stranger. OSError if nobody who is trusted answers in time.
            """

        def fetch(self, request: Request, *, deadline_s: float) -> tuple[int, bytes]:
            """
            Return status and body of what an https:// address answers to this request.

            Only the certificate authority of the request is trusted. OSError if nobody who is
            trusted answers in time; InputError for what no second try can change.
            """

        def ask_metadata(self, question: Question, *, deadline_s: float) -> tuple[int, bytes]:
            """Return status and body of the cloud's metadata service. Raises as fetch does."""

        def call(self, asked: UnaryCall, *, deadline_s: float) -> tuple[str, bytes]:
            """Return a gRPC status by name and, if OK, the answer's message. Raises as fetch."""

        def start_apart(self, work: Work) -> Apart:
            """Start this work in a process of its own, ended with all that it starts."""

        def say(self, text: bytes) -> None:
            """Write to stderr, where the journal listens. Never raises."""

        def show_on_console(self, text: bytes) -> None:
            """Write to the machine's console if it has one. Never raises, never blocks."""

        def now_ns(self) -> int:
            """Return wall-clock nanoseconds since 1970."""

        def monotonic_ns(self) -> int: ...

        def sleep(self, seconds: float) -> None: ...


# Nothing that the agent reads is a tenth of this.
LARGEST_FILE = 16 << 20

# Opening a pipe would otherwise wait for its other end, which nobody has to hold.
_OPEN = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

# Opened without following a link in the last part of the path: an agent that runs as root must
# not be steered elsewhere by a link someone left in a log directory.
_CREATE = _OPEN | os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW

# The file types in st_mode.
REGULAR = 0o100000
DIRECTORY = 0o040000


class RealHost:
    """This machine, or a directory that stands for one."""

    def __init__(self, root: str = "") -> None:
        self._root = "" if root in ("", "/") else _absolute(root)
        self.is_directory = self._root != ""
        self.environment = {
            name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
            for name, value in os.environ.items()
        }

    def real_path(self, path: str) -> str:
        return self._root + path if self._root else path

    def node_path(self, path: str) -> str:
        """Return the node path of a path that a person gave, with or without the root in front."""
        absolute = path if path.startswith("/") else _absolute(path)
        if self._root and absolute.startswith(self._root + "/"):
            return absolute[len(self._root) :]
        return absolute

    def read_file(self, path: str) -> bytes:
        descriptor = os.open(self.real_path(path), _OPEN | os.O_RDONLY)
        try:
            _refuse_other_kinds(descriptor, path)
            parts, size = [], 0
            # Counted, not asked for: files below /proc say that they are empty.
            # Read below the size from which the C library asks the kernel for each buffer.
            while part := os.read(descriptor, 1 << 16):
                parts.append(part)
                size += len(part)
                if size > LARGEST_FILE:
                    raise too_large(path)
        finally:
            os.close(descriptor)
        return b"".join(parts)

    def write_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        descriptor = os.open(self.real_path(path), _CREATE | os.O_TRUNC, mode)
        try:
            _refuse_other_kinds(descriptor, path)
            # The umask must not decide who can read a secret or a log.
            os.fchmod(descriptor, mode)
            _write_all(descriptor, content)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def append_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        descriptor = os.open(self.real_path(path), _CREATE | os.O_APPEND, mode)
        try:
            _refuse_other_kinds(descriptor, path)
            _write_all(descriptor, content)
            if sync:
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, source: str, target: str) -> None:
        os.rename(self.real_path(source), self.real_path(target))

    def create_link(self, source: str, target: str) -> None:
        os.link(self.real_path(source), self.real_path(target))

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(self.real_path(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        os.unlink(self.real_path(path))

    def make_directory(self, path: str) -> None:
        _make_directories(self.real_path(path))

    def list_directory(self, path: str) -> list[str]:
        return sorted(os.listdir(self.real_path(path)))

    def file_mode(self, path: str) -> int | None:
        try:
            return os.stat(self.real_path(path)).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None

    def run(
        self,
        command: list[str],
        *,
        environment: dict[str, str] | None = None,
        deadline_s: float | None = None,
        on_output: process.OnOutput | None = None,
    ) -> process.Finished:
        from fairlead.agent import process

        own = self.environment if environment is None else environment
        return process.run(command, own, deadline_s, on_output)

    def can_connect(self, path: str) -> bool:
        from fairlead.agent import probe

        return probe.can_connect_unix(self.real_path(path))

    def converse(
        self, path: str, said: bytes, is_whole: Callable[[bytes], bool], *, deadline_s: float
    ) -> bytes:
        from fairlead.agent import probe

        return probe.converse_unix(self.real_path(path), said, is_whole, deadline_s)

    def fetch_status(
        self, url: str, *, ca_file: str = "", certificate_file: str = "", deadline_s: float = 2.0
    ) -> int:
        from fairlead.agent import probe

        ca = self.real_path(ca_file) if ca_file else ""
        certificate = self.real_path(certificate_file) if certificate_file else ""
        return probe.http_status(url, ca, certificate, deadline_s)

    def fetch(self, request: Request, *, deadline_s: float) -> tuple[int, bytes]:
        from fairlead.agent import https_fetch

        return https_fetch.fetch(request, deadline_s)

    def ask_metadata(self, question: Question, *, deadline_s: float) -> tuple[int, bytes]:
        from fairlead.agent.network import metadata_request

        return metadata_request.ask(question, deadline_s)

    def call(self, asked: UnaryCall, *, deadline_s: float) -> tuple[str, bytes]:
        from fairlead.agent.network import grpc_call

        return grpc_call.call(asked, deadline_s)

    def start_apart(self, work: Work) -> Apart:
        from fairlead.agent.hotfix import apart

        return apart.start_apart(work)

    def say(self, text: bytes) -> None:
        try:
            _write_all(2, text)
        except OSError:
            return  # A closed or full stderr is nobody's failure.

    def show_on_console(self, text: bytes) -> None:
        if self.is_directory:
            return
        try:
            # Without waiting: a serial console that nobody drains must not hold up a boot.
            console = os.open("/dev/console", os.O_WRONLY | _OPEN)
        except OSError:
            return
        try:
            os.write(console, text)
        except OSError:
            return
        finally:
            os.close(console)

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def is_regular_file(host: Host, path: str) -> bool:
    """Say whether the path is a plain file, or a link to one."""
    mode = host.file_mode(path)
    return mode is not None and _type_of(mode) == REGULAR


def is_executable_file(host: Host, path: str) -> bool:
    """Say whether the path is a plain file that somebody may execute."""
    mode = host.file_mode(path)
    return mode is not None and _type_of(mode) == REGULAR and mode & 0o111 != 0


def _type_of(mode: int) -> int:
    return mode & 0o170000


def _absolute(path: str) -> str:
    if path.startswith("/") and not ("//" in path or "/." in path or path.endswith("/")):
        return path
    from os.path import abspath

    return abspath(path)


def _make_directories(path: str) -> None:
    try:
        os.mkdir(path, 0o755)
    except FileNotFoundError:
        above = path.rstrip("/").rpartition("/")[0]
        if not above:
            raise
        _make_directories(above)
        _make_directories(path)
    except OSError:
        if _type_of(os.stat(path).st_mode) != DIRECTORY:
            raise


def refusal_of(mode: int, path: str) -> OSError | None:
    """Return the error for a path of this kind that is not a plain file; None if it is one."""
    if _type_of(mode) == REGULAR:
        return None
    import errno

    if _type_of(mode) == DIRECTORY:
        return IsADirectoryError(errno.EISDIR, "Is a directory", path)
    return OSError(errno.EINVAL, "Not a plain file", path)


def too_large(path: str) -> OSError:
    """Return the error for a file above LARGEST_FILE."""
    import errno

    return OSError(errno.EFBIG, f"Larger than {LARGEST_FILE >> 20} MiB", path)


def _refuse_other_kinds(descriptor: int, path: str) -> None:
    refusal = refusal_of(os.fstat(descriptor).st_mode, path)
    if refusal is not None:
        raise refusal


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
