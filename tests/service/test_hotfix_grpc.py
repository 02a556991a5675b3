"""Pointers over gRPC: what an AKS node controller sees, and what others cannot do."""

import logging
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from certificate_chain import Wanted, authority, issue
from fairlead.errors import InputError, UnavailableError
from fairlead.hotfix.service.asked import Question, Reply, Status
from fairlead.hotfix.service.grpc_certificate import CertificatePair
from fairlead.hotfix.service.grpc_message import parse_request, render_response
from fairlead.hotfix.service.grpc_server import serve_grpc
from service.hotfix_grpc import BODY, NAME, NOW, Answering, Served, served

AKS = b"\x0a\x11aksNodeController"
PROOF = ("authorization", "the proof")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        yield one


def message_type(name: str, *fields: str) -> type[Message]:
    """A message of texts, by protobuf's own library."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", syntax="proto3")
    message = file.message_type.add(name=name)
    for number, field in enumerate(fields, 1):
        message.field.add(name=field, number=number, type=9, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    return made


def test_an_aks_agent_is_answered_without_signed_metadata(running: Served) -> None:
    code, answer = running.call(AKS, PROOF)

    response = message_type("Response", "component_name", "config")()
    assert isinstance(answer, bytes)
    response.ParseFromString(answer)
    assert (code, response.component_name, response.config) == (
        "OK",
        "aksNodeController",
        BODY.decode(),
    )
    question = Question(component="aksNodeController", proof="the proof", wants_update=False)
    assert running.pointers.asked == [(question, NOW)]


def test_an_agent_of_ours_is_answered_as_one_that_verifies(running: Served) -> None:
    version, machine = ("fairlead-version", "202604.01.0"), ("fairlead-machine", "workers-1")

    assert running.call(AKS, PROOF, version, machine)[0] == "OK"

    asked = Question(
        component="fairlead-node",
        proof="the proof",
        machine="workers-1",
        version="202604.01.0",
        wants_update=True,
    )
    assert running.pointers.asked == [(asked, NOW)]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_every_status_arrives_as_its_code_with_its_sentence(tmp_path: Path, status: Status) -> None:
    with served(tmp_path, Reply(status=status, problem="because of this")) as one:
        assert one.call(AKS, PROOF) == (status.name, "because of this")


@pytest.mark.parametrize(
    "metadata",
    [(), (("authorization", ""),), (PROOF, PROOF), (PROOF, ("authorization", "another"))],
)
def test_without_exactly_one_proof_nobody_is_asked(
    running: Served, metadata: tuple[tuple[str, str], ...]
) -> None:
    assert running.call(AKS, *metadata)[0] == "UNAUTHENTICATED"
    assert running.pointers.asked == []


@pytest.mark.parametrize(
    "metadata",
    [
        (("fairlead-version", "1" * 254),),
        (("fairlead-machine", "a"), ("fairlead-machine", "b")),
    ],
)
def test_names_that_are_too_long_or_ambiguous_are_refused(
    running: Served, metadata: tuple[tuple[str, str], ...]
) -> None:
    assert running.call(AKS, PROOF, *metadata)[0] == "INVALID_ARGUMENT"
    assert running.pointers.asked == []


def test_a_message_that_is_none_is_refused_and_says_why(running: Served) -> None:
    code, sentence = running.call(b"\x0a\x7fshort", PROOF)

    assert code == "INVALID_ARGUMENT"
    assert sentence == "found 7 bytes, a field ends after 129"


def test_another_method_is_unimplemented(running: Served) -> None:
    method = "/akslivepatching.v1.LivePatchingService/SetComponentConfig"

    assert running.call(AKS, PROOF, method=method)[0] == "UNIMPLEMENTED"


def test_a_request_of_5_kib_is_refused_and_a_proof_of_20_kib_is_not(running: Served) -> None:
    assert running.call(b"\x0a\x88\x27" + b"x" * 5000, PROOF)[0] == "RESOURCE_EXHAUSTED"
    assert running.call(AKS, ("authorization", "x" * 20_000))[0] == "OK"
    assert running.call(AKS, ("authorization", "x" * 40_000))[0] == "RESOURCE_EXHAUSTED"


def test_no_proof_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = ("authorization", "hush-hush")
    with served(tmp_path, Reply(status=Status.UNAUTHENTICATED, problem="refused")) as one:
        one.call(AKS, secret)
        one.call(b"\xff", secret)
        one.call(AKS, secret, secret)

    assert "hush" not in caplog.text + "".join(capfd.readouterr())


def negotiated(one: Served, protocols: list[str], **limits: ssl.TLSVersion) -> str | None:
    context = ssl.create_default_context(cadata=one.root.pem.decode())
    context.set_alpn_protocols(protocols)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # so that it is the server who refuses
    for name, version in limits.items():
        setattr(context, name, version)
    with (
        socket.create_connection(("127.0.0.1", one.server.port), 10) as connection,
        context.wrap_socket(connection, server_hostname=NAME) as secured,
    ):
        return secured.selected_alpn_protocol()


def test_a_client_that_offers_the_aks_name_and_h2_gets_h2(running: Served) -> None:
    assert negotiated(running, ["aks-live-patching", "h2"]) == "h2"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_1_2_is_served_and_1_1_is_not(running: Served) -> None:
    old = ssl.TLSVersion.TLSv1_1

    assert negotiated(running, ["h2"], maximum_version=ssl.TLSVersion.TLSv1_2) == "h2"
    with pytest.raises(OSError, match=r"EOF|reset"):
        negotiated(running, ["h2"], minimum_version=old, maximum_version=old)


@pytest.mark.slow
def test_a_connection_that_says_nothing_is_closed_before_and_after_its_hand_shake(
    running: Served,
) -> None:
    context = ssl.create_default_context(cadata=running.root.pem.decode())
    context.set_alpn_protocols(["h2"])
    address = ("127.0.0.1", running.server.port)
    with socket.create_connection(address) as plain, socket.create_connection(address) as other:
        plain.settimeout(15)
        other.settimeout(15)
        with context.wrap_socket(other, server_hostname=NAME) as secured:
            assert plain.recv(1) == b""
            while secured.recv(1000):
                pass  # what HTTP/2 says by itself, then the end


def test_a_renewed_certificate_is_served_from_the_next_connection_on(running: Served) -> None:
    assert running.call(AKS, PROOF)[0] == "OK"
    new = authority("another root")
    issue(Wanted("server", (NAME,)), new).write(running.certificate_file, running.key_file)

    assert running.call(AKS, PROOF)[0] == "UNAVAILABLE"
    running.root = new
    assert running.call(AKS, PROOF)[0] == "OK"


def test_half_a_renewal_changes_nothing_and_is_told(running: Served) -> None:
    new = issue(Wanted("server", (NAME,)), running.root)
    key = running.key_file.read_bytes()
    new.write(running.certificate_file, running.key_file)
    running.key_file.write_bytes(key)

    assert running.call(AKS, PROOF)[0] == "OK"
    problem = "the renewed certificate is not in use: KEY_VALUES_MISMATCH"
    assert running.server.certificate_problem == problem

    new.write(running.certificate_file, running.key_file)
    assert running.call(AKS, PROOF)[0] == "OK"
    assert running.server.certificate_problem == ""


def test_a_certificate_that_is_none_is_told_before_anything_is_served(tmp_path: Path) -> None:
    (tmp_path / "a.pem").write_text("nothing")
    pair = CertificatePair(tmp_path / "a.pem", tmp_path / "a.pem")

    with pytest.raises(InputError, match=r"cannot serve TLS with .*a\.pem.*readable by this user"):
        serve_grpc(Answering(), "127.0.0.1:0", pair, lambda: NOW)


def test_an_address_that_is_taken_is_told(running: Served) -> None:
    pair = CertificatePair(running.certificate_file, running.key_file)

    with pytest.raises(UnavailableError, match=r"cannot listen at 127\.0\.0\.1:\d+: in use"):
        serve_grpc(Answering(), running.target, pair, lambda: NOW)


def test_a_stopped_server_is_gone(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        pass

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", one.server.port), 5)


@pytest.mark.parametrize(
    ("message", "component"),
    [
        (b"", ""),
        (AKS, "aksNodeController"),
        (b"\x0a\x01a\x0a\x01b", "b"),
        (b"\x10\x96\x01\x0a\x01a\x1d1234\x2112345678\x1a\x02xy", "a"),
    ],
)
def test_a_request_is_read_as_protobuf_reads_it(message: bytes, component: str) -> None:
    request = message_type("Request", "component_name")()
    request.ParseFromString(message)

    assert parse_request(message) == request.component_name
    assert parse_request(message) == component


@pytest.mark.parametrize(
    "message",
    [b"\x0a", b"\x0a\x02a", b"\x0b", b"\x02\x01a", b"\x0a\x01\xff", b"\xff" * 11, b"\x15abc"],
)
def test_what_protobuf_refuses_is_refused(message: bytes) -> None:
    with pytest.raises(InputError):
        parse_request(message)


def test_a_long_config_is_rendered_as_protobuf_renders_it() -> None:
    config = "ü" * 100_000
    response = message_type("Response", "component_name", "config")(
        component_name="aksNodeController", config=config
    )

    assert render_response("aksNodeController", config.encode()) == response.SerializeToString()
