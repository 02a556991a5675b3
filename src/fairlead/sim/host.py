"""
A Host in memory: virtual time, programs as functions, and an end at any operation.

Every operation counts. At `stops_at` the host is dead: that operation and all later ones raise
HostStoppedError, so that not even a `finally` of the agent gets anything done, as after a kill.
"""

from __future__ import annotations

import random
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairlead.agent.host import LARGEST_FILE, refusal_of, too_large
from fairlead.agent.process import Finished
from fairlead.sim.disk import ROOT, Disk, Inode

if TYPE_CHECKING:
    from fairlead.agent.hotfix.in_fork import Apart, Work
    from fairlead.agent.https_fetch import Request
    from fairlead.agent.network.grpc_call import UnaryCall
    from fairlead.agent.network.metadata_request import Question
    from fairlead.agent.process import OnOutput

Program = Callable[["SimHost", list[str], dict[str, str]], Finished]
# Takes the host and a request; gives a status and a body, or raises OSError.
Server = Callable[["SimHost", "Request"], tuple[int, bytes]]

# Linux: MAX_ARG_STRLEN, 32 pages.
LONGEST_STRING = 128 * 1024

# Every look at the clock takes this long, so that time always moves.
TICK_NS = 1_000
BOOTED_NS = 1_800_000_000 * 1_000_000_000


class HostStoppedError(BaseException):
    """The machine went away. Not an Exception: no code on it can live through this."""


class SimHost:
    """A machine whose disk, clock and programs are values."""

    def __init__(self, disk: Disk | None = None, *, stops_at: int | None = None) -> None:
        self.disk = disk if disk is not None else Disk()
        self.environment: dict[str, str] = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        self.is_directory = True
        # Programs by the name they are started with. A name that is not here is not installed.
        self.programs: dict[str, Program] = {}
        # Servers by address. An address that is not here refuses connections.
        self.servers: dict[str, Server] = {}
        # What the cloud's metadata service says, by path; without any there is no such service.
        self.metadata: dict[str, tuple[int, bytes]] = {}
        self.metadata_questions: list[Question] = []
        # gRPC servers by host:port, as functions of the call.
        self.callees: dict[str, Callable[[UnaryCall], tuple[str, bytes]]] = {}
        # By the path of a Unix socket: what is said there, and what is answered.
        self.listeners: dict[str, Callable[[bytes], bytes]] = {}
        self.said = bytearray()
        self.console = bytearray()
        self.started: list[list[str]] = []
        # What the wall clock showed when the machine was switched on; a time sync changes it.
        self.clock_ns = BOOTED_NS
        self.operations = 0
        self._stops_at = stops_at
        self._elapsed_ns = 0

    def cut_power(self, seed: int) -> None:
        """Leave the disk as a power cut at this moment would."""
        self.disk.cut_power(random.Random(seed))  # noqa: S311 - repeatable, not secret

    def real_path(self, path: str) -> str:
        return path

    def read_file(self, path: str) -> bytes:
        self._count()
        found = self.disk.read(path)
        _refuse_other_kinds(found, path)
        if len(found.content) > LARGEST_FILE:
            raise too_large(path)
        return found.content

    def write_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        self._count()
        found = self.disk.find(path)
        if found is None:
            found = Inode(stat.S_IFREG | mode)
            self.disk.bind(path, found)
        _refuse_other_kinds(found, path)
        found.mode = stat.S_IFREG | mode
        found.content = b""
        # Between the truncation and the last byte there is a moment like any other.
        self._count()
        found.content = content
        if sync:
            self._count()
            found.synced = content

    def append_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        self._count()
        found = self.disk.find(path)
        if found is None:
            found = Inode(stat.S_IFREG | mode)
            self.disk.bind(path, found)
            self._count()
        _refuse_other_kinds(found, path)
        found.content += content
        if sync:
            self._count()
            found.synced = found.content

    def rename(self, source: str, target: str) -> None:
        self._count()
        self.disk.bind(target, self.disk.read(source))
        self.disk.bind(source, None)

    def create_link(self, source: str, target: str) -> None:
        self._count()
        if self.disk.find(target) is not None:
            raise FileExistsError(17, "File exists", source, None, target)
        self.disk.bind(target, self.disk.read(source))

    def sync_directory(self, path: str) -> None:
        self._count()
        inode = self.disk.find(path)
        if inode is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if not inode.is_directory:
            raise NotADirectoryError(20, "Not a directory", path)
        self.disk.sync_names()

    def remove(self, path: str) -> None:
        self._count()
        self.disk.read(path)
        self.disk.bind(path, None)

    def make_directory(self, path: str) -> None:
        self._count()
        current = ""
        for name in path.strip("/").split("/"):
            current += "/" + name
            found = self.disk.find(current)
            if found is None:
                self.disk.bind(current, Inode(stat.S_IFDIR | 0o755))
            elif not found.is_directory:
                kind = FileExistsError if current == path else NotADirectoryError
                raise kind(17, "File exists", path)

    def list_directory(self, path: str) -> list[str]:
        self._count()
        prefix = path.rstrip("/") + "/"
        if self.disk.find(path.rstrip("/") or ROOT) is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        below = (name[len(prefix) :] for name in self.disk.names if name.startswith(prefix))
        return sorted(name for name in below if name and "/" not in name)

    def file_mode(self, path: str) -> int | None:
        self._count()
        inode = self.disk.find(path)
        return None if inode is None else inode.mode

    def run(
        self,
        command: list[str],
        *,
        environment: dict[str, str] | None = None,
        deadline_s: float | None = None,
        on_output: OnOutput | None = None,
    ) -> Finished:
        self._count()
        own = self.environment if environment is None else environment
        _refuse_what_the_kernel_refuses(command, own)
        self.started.append(command)
        program = self.programs.get(command[0])
        if program is None:
            raise FileNotFoundError(2, "No such file or directory", command[0])
        start_ns = self._elapsed_ns
        finished = program(self, command, own)
        took_s = (self._elapsed_ns - start_ns) / 1e9
        if on_output is not None:
            on_output(finished.output)
        if deadline_s is not None and took_s > deadline_s:
            # Killed at the deadline: what it would have done later takes no time of ours.
            self._elapsed_ns = start_ns + int(deadline_s * 1e9)
            return Finished(137, finished.output, is_timeout=True)
        return finished

    def can_connect(self, path: str) -> bool:
        return self.disk.find(path) is not None

    def converse(
        self, path: str, said: bytes, is_whole: Callable[[bytes], bool], *, deadline_s: float
    ) -> bytes:
        listener = self.listeners.get(path)
        if listener is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        return listener(said)

    def fetch_status(
        self, url: str, *, ca_file: str = "", certificate_file: str = "", deadline_s: float = 2.0
    ) -> int:
        raise ConnectionRefusedError(111, f"Connection refused: {url}")

    def fetch(self, request: Request, *, deadline_s: float) -> tuple[int, bytes]:
        self._count()
        server = self.servers.get(request.endpoint)
        if server is None:
            raise ConnectionRefusedError(111, f"Connection refused: {request.endpoint}")
        return server(self, request)

    def ask_metadata(self, question: Question, *, deadline_s: float) -> tuple[int, bytes]:
        self._count()
        self.metadata_questions.append(question)
        if not self.metadata:
            raise TimeoutError("timed out")
        return self.metadata.get(question.path, (404, b""))

    def call(self, asked: UnaryCall, *, deadline_s: float) -> tuple[str, bytes]:
        self._count()
        callee = self.callees.get(f"{asked.peer.host}:{asked.peer.port}")
        if callee is None:
            raise ConnectionRefusedError(111, f"Connection refused: {asked.peer.host}")
        return callee(asked)

    def start_apart(self, work: Work) -> Apart:
        self._count()
        return SimApart(self, work)

    def say(self, text: bytes) -> None:
        self.said += text

    def show_on_console(self, text: bytes) -> None:
        self.console += text

    def now_ns(self) -> int:
        return self.clock_ns + self.monotonic_ns()

    def monotonic_ns(self) -> int:
        self._elapsed_ns += TICK_NS
        return self._elapsed_ns

    def sleep(self, seconds: float) -> None:
        self._elapsed_ns += int(seconds * 1e9)

    def _count(self) -> None:
        self.operations += 1
        if self._stops_at is not None and self.operations >= self._stops_at:
            raise HostStoppedError(f"stopped at operation {self.operations}")


class SimApart:
    """Work apart, done at once; each line has the moment at which it was told."""

    def __init__(self, host: SimHost, work: Work) -> None:
        self._lines: list[tuple[int, bytes]] = []
        work(lambda line: self._lines.append((host.monotonic_ns(), line)))

    def next_line(self, until_ns: int) -> bytes | None:
        if not self._lines or self._lines[0][0] > until_ns:
            return None
        return self._lines.pop(0)[1]

    def why_given_up(self) -> str:
        return ""

    def end(self) -> int:
        self._lines.clear()
        return 0


def _refuse_other_kinds(inode: Inode, path: str) -> None:
    refusal = refusal_of(inode.mode, path)
    if refusal is not None:
        raise refusal


def _refuse_what_the_kernel_refuses(command: list[str], environment: dict[str, str]) -> None:
    strings = [*command, *(f"{name}={value}" for name, value in environment.items())]
    for text in strings:
        if "\0" in text:
            raise ValueError("embedded null byte")
        if len(text.encode("utf-8", "surrogateescape")) >= LONGEST_STRING:
            raise OSError(7, "Argument list too long", command[0])
