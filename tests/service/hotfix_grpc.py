"""A gRPC server with answers by a test, and calls to it with grpcio's own client."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc

from certificate_chain import Issued, Wanted, authority, issue
from fairlead.hotfix.service.asked import Question, Reply, Status
from fairlead.hotfix.service.grpc_certificate import CertificatePair
from fairlead.hotfix.service.grpc_message import METHOD
from fairlead.hotfix.service.grpc_server import GrpcServer, GrpcSettings, serve_grpc

NAME = "api.cluster.example"
BODY = b'{"hotfixes": {"202604.01": "202604.01.3"}}\n'
NOW = datetime(2026, 11, 18, tzinfo=UTC)


@dataclass
class Answering:
    """Answers the same to everybody, and keeps the questions."""

    reply: Reply = field(default_factory=lambda: Reply(status=Status.OK, body=BODY))
    asked: list[tuple[Question, datetime]] = field(default_factory=list)

    def answer(self, question: Question, now: datetime) -> Reply:
        self.asked.append((question, now))
        return self.reply


@dataclass
class Served:
    """A server, and what a client must know of it."""

    server: GrpcServer
    pointers: Answering
    root: Issued
    certificate_file: Path
    key_file: Path

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    @property
    def ca_file(self) -> Path:
        file = self.certificate_file.with_name("ca.pem")
        file.write_bytes(self.root.pem)
        return file

    @contextmanager
    def channel(self, *options: tuple[str, Any]) -> Iterator[grpc.Channel]:
        credentials = grpc.ssl_channel_credentials(self.root.pem)
        named = ("grpc.ssl_target_name_override", NAME)
        every = [named, ("grpc.use_local_subchannel_pool", 1), *options]
        with grpc.secure_channel(self.target, credentials, options=every) as channel:
            yield channel

    def call(
        self, message: bytes, *metadata: tuple[str, str], method: str = METHOD
    ) -> tuple[str, bytes | str]:
        """Return the name of the code, and the message or the sentence."""
        with self.channel() as channel:
            try:
                return "OK", channel.unary_unary(method)(message, timeout=10, metadata=metadata)
            except grpc.RpcError as error:
                return error.code().name, error.details()


@contextmanager
def served(
    directory: Path, reply: Reply | None = None, settings: GrpcSettings | None = None
) -> Iterator[Served]:
    root = authority()
    certificate_file, key_file = directory / "server.pem", directory / "server.key"
    issue(Wanted("server", (NAME, "127.0.0.1")), root).write(certificate_file, key_file)
    pointers = Answering(reply) if reply else Answering()
    pair = CertificatePair(certificate_file, key_file)
    server = serve_grpc(pointers, "127.0.0.1:0", pair, lambda: NOW, settings)
    try:
        yield Served(server, pointers, root, certificate_file, key_file)
    finally:
        server.stop(0.2)
