"""Whom a node asks for a fix, with which proof, and what becomes of each answer."""

import json
from base64 import b64encode
from typing import Any

import pytest

from builders import CONFIG_PATH, NBC_PATH, aks_files, make_boot, make_disk, make_sim_host
from fairlead import __version__
from fairlead.agent.hotfix.asking.answered import Rejected, Served, Unreachable
from fairlead.agent.hotfix.asking.ask_service import (
    ask_service,
    decode_ca,
    find_service,
    proof_for,
)
from fairlead.agent.hotfix.asking.tell_outcome import find_reported
from fairlead.agent.https_fetch import Request
from fairlead.agent.layout import Layout
from fairlead.agent.network.grpc_call import UnaryCall
from fairlead.agent.stages.stage import Boot
from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.errors import InputError
from fairlead.sim.host import SimHost

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CA = b64encode(PEM.encode()).decode()
CONFIG: dict[str, Any] = {
    "version": "v1",
    "api_server_config": {"api_server_name": "api.example.test"},
    "kubernetes_ca_cert": CA,
}
AZURE = "/metadata/attested/document?api-version=2025-04-07"
PROOF = "MIIL+/7w="
SERVICE = "/etc/fairlead/hotfix/service.json"
DOCUMENT = BootDocument("https://10.0.0.1:8443/v1/node", PEM, "dG9rZW4=")
ENDPOINT = "https://10.0.0.1:8443/v1/hotfix"
QUERY = f"?component=fairlead-node&version={__version__}"


def grpc_host(files: dict[str, bytes], address: str = "api.example.test:443") -> SimHost:
    """A machine on Azure whose API server answers calls."""
    host = make_sim_host(make_disk(files))
    host.metadata[AZURE] = (200, json.dumps({"signature": PROOF}).encode())
    host.calls = []  # type: ignore[attr-defined]

    def answer(asked: UnaryCall) -> tuple[str, bytes]:
        host.calls.append(asked)  # type: ignore[attr-defined]
        return "OK", b"\x12\x02{}"

    host.callees[address] = answer
    return host


def ask(boot: Boot) -> Served | Rejected | Unreachable:
    return ask_service(boot, boot.run.host.monotonic_ns() + 8 * 10**9)


def reason_of(host: SimHost) -> str:
    found = ask(make_boot(host))
    assert isinstance(found, Unreachable)
    return found.reason


def test_an_aks_node_asks_at_its_api_server_with_the_attested_document() -> None:
    host = grpc_host(aks_files(CONFIG))

    found = ask(make_boot(host))

    assert isinstance(found, Served)
    assert found.body == b"{}"
    asked: UnaryCall = host.calls[0]  # type: ignore[attr-defined]
    assert (asked.peer.host, asked.peer.port, asked.peer.server_name, asked.peer.ca) == (
        "api.example.test",
        443,
        "api.example.test",
        PEM,
    )
    assert asked.peer.alpn == ("aks-live-patching", "h2")
    assert asked.path == "/akslivepatching.v1.LivePatchingService/GetComponentConfig"
    assert asked.message == b"\x0a\x11aksNodeController"
    assert asked.metadata == {"authorization": PROOF, "fairlead-version": __version__}


def test_a_machine_with_a_name_says_it_over_grpc_too() -> None:
    host = grpc_host({**aks_files(CONFIG), "/etc/hostname": b"m-1\n"})

    ask(make_boot(host))

    asked: UnaryCall = host.calls[0]  # type: ignore[attr-defined]
    assert asked.metadata["fairlead-machine"] == "m-1"


def test_without_a_node_config_the_nbc_command_says_whom_to_ask() -> None:
    files = aks_files(CONFIG)
    del files[CONFIG_PATH]
    files[NBC_PATH] = f"API_SERVER_NAME=api.example.test KUBE_CA_CRT={CA} bash x".encode()

    assert isinstance(ask(make_boot(grpc_host(files))), Served)


def test_the_name_of_the_api_server_may_carry_a_port() -> None:
    config = {**CONFIG, "api_server_config": {"api_server_name": "api.example.test:6443"}}

    assert isinstance(ask(make_boot(grpc_host(aks_files(config), "api.example.test:6443"))), Served)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"api_server_config": {}}, "no API server name in the node config or NBC command"),
        ({"kubernetes_ca_cert": ""}, "no cluster CA: an answer could not be verified"),
        ({"kubernetes_ca_cert": "%%%"}, "kubernetes_ca_cert: is not base64"),
        ({"kubernetes_ca_cert": "AAA"}, "kubernetes_ca_cert: is not PEM in base64"),
        ({"kubernetes_ca_cert": "AAAA"}, "kubernetes_ca_cert: holds no certificate"),
        ({"api_server_config": {"api_server_name": "a b"}}, "api_server_name: must not hold"),
        ({"api_server_config": {"api_server_name": "x@api"}}, "api_server_name: must be https:"),
    ],
)
def test_nobody_is_asked_where_the_answer_could_not_be_verified(
    changed: dict[str, Any], reason: str
) -> None:
    host = grpc_host(aks_files({**CONFIG, **changed}))

    assert reason in reason_of(host)
    assert host.metadata_questions == []


def test_without_a_proof_nobody_is_asked() -> None:
    host = grpc_host(aks_files(CONFIG))
    host.metadata = {}

    assert reason_of(host) == "no proof from the metadata service of azure: timed out"
    assert host.calls == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("status", ["Unauthenticated", "Internal", "DeadlineExceeded"])
def test_a_refusal_over_grpc_is_told_by_its_name(status: str) -> None:
    host = grpc_host(aks_files(CONFIG))
    host.callees["api.example.test:443"] = lambda _asked: (status, b"")

    found = ask(make_boot(host))

    assert isinstance(found, Rejected)
    assert found.status == status


def https_host(status: int, body: bytes = b"{}", **service: str) -> tuple[SimHost, list[Request]]:
    """A plain image with a boot document, and its control plane."""
    layout = Layout("fairlead", {})
    files = {layout.boot_document: render_boot_document(DOCUMENT), "/etc/hostname": b"m-1\n"}
    if service:
        files[SERVICE] = json.dumps(service).encode()
    host = make_sim_host(make_disk(files))
    host.metadata[AZURE] = (200, json.dumps({"signature": PROOF}).encode())
    asked: list[Request] = []

    def answer(_host: SimHost, request: Request) -> tuple[int, bytes]:
        asked.append(request)
        return status, body

    host.servers[(service.get("endpoint") or ENDPOINT) + QUERY] = answer
    return host, asked


def test_a_machine_with_a_boot_document_asks_where_its_config_came_from() -> None:
    host, asked = https_host(200, b'{"hotfixes": {}}')

    found = ask(make_boot(host, layout="fairlead"))

    assert isinstance(found, Served)
    assert found.body == b'{"hotfixes": {}}'
    request = asked[0]
    assert (request.ca, request.token, request.machine) == (PEM, "dG9rZW4=", "m-1")
    assert (request.server_name, host.metadata_questions) == ("", [])


def test_the_image_may_name_the_service_and_how_machines_prove_themselves() -> None:
    endpoint = "https://fix.example.test/v1/hotfix"
    other = PEM.replace("AAAA", "BBBB")
    host, asked = https_host(
        200, endpoint=endpoint, ca=other, server_name="pinned.example.test", attestation="azure"
    )

    assert isinstance(ask(make_boot(host, layout="fairlead")), Served)
    request = asked[0]
    assert (request.ca, request.token, request.server_name) == (other, PROOF, "pinned.example.test")


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (400, "InvalidArgument"),
        (401, "Unauthenticated"),
        (403, "PermissionDenied"),
        (404, "NotFound"),
        (405, "InvalidArgument"),
        (429, "ResourceExhausted"),
        (500, "Internal"),
        (503, "Unavailable"),
    ],
)
def test_a_status_of_https_is_told_as_grpc_would(status: int, word: str) -> None:
    found = ask(make_boot(https_host(status)[0], layout="fairlead"))

    assert isinstance(found, Rejected)
    assert found.status == word


@pytest.mark.parametrize("status", [302, 502, 504, 511])
def test_other_answers_are_as_if_nobody_answered(status: int) -> None:
    found = ask(make_boot(https_host(status)[0], layout="fairlead"))

    assert isinstance(found, Unreachable)
    assert found.reason == f"status {status} from {ENDPOINT}"


@pytest.mark.parametrize(
    ("service", "problem"),
    [
        ({"wire": "smoke"}, "wire: found 'smoke', expected https or grpc"),
        ({"attestation": "trust me"}, "attestation: found 'trust me'"),
        ({"endpoint": "http://x/"}, "endpoint: must be an https:// address"),
        ({"endpoint": "https://x/"}, "ca: holds no certificate"),
        ({"wire": 3}, "wire: found"),
    ],
)
def test_a_service_file_that_nobody_can_have_meant_is_named(
    service: dict[str, Any], problem: str
) -> None:
    found = ask(make_boot(https_host(200, **service)[0], layout="fairlead"))

    assert isinstance(found, Unreachable)
    assert f"{SERVICE} cannot be used: {problem}" in found.reason


def test_a_join_token_needs_a_boot_document() -> None:
    files = {**aks_files(CONFIG), SERVICE: b'{"attestation": "join"}'}

    assert "it has no boot document" in reason_of(grpc_host(files))


def test_a_proof_is_masked_from_then_on() -> None:
    host = grpc_host(aks_files(CONFIG))
    boot = make_boot(host)
    ask(boot)

    boot.run.log("INFO", f"says {PROOF}")

    assert PROOF.encode() not in bytes(host.said)


def test_a_ca_may_be_wrapped() -> None:
    assert decode_ca(f"{CA[:20]}\r\n{CA[20:]}\n") == PEM
    with pytest.raises(InputError):
        decode_ca("")


def test_a_report_is_proven_for_the_address_that_was_asked() -> None:
    endpoint = "https://fix.example.test/v1/hotfix"
    settings = {"wire": "https", "endpoint": endpoint, "ca": PEM, "attestation": "gcp"}
    host = make_sim_host(make_disk({SERVICE: json.dumps(settings).encode()}))
    path = (
        "/computeMetadata/v1/instance/service-accounts/default/identity"
        "?audience=https%3A%2F%2Ffix.example.test%2Fv1%2Fhotfix&format=full"
    )
    # Tokens for other audiences are not there.
    host.metadata[path] = (200, b"eyJh.eyJi.c2ln")
    boot = make_boot(host)
    asked, told = find_service(boot), find_reported(boot.run)
    assert told is not None
    assert (asked.endpoint, told.endpoint) == (endpoint, f"{endpoint}-report")

    end_ns = host.monotonic_ns() + 8 * 10**9
    proofs = [proof_for(boot.run, service, end_ns) for service in (asked, told)]

    assert proofs == ["eyJh.eyJi.c2ln", "eyJh.eyJi.c2ln"]
