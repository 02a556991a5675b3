"""A kubeconfig that cannot be used is told; programs that it names give tokens, as with kubectl."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certificate_chain import authority
from fairlead.errors import InputError
from fairlead.kube.client import KubeClient, connect
from unit.kube.small_server import Reply, SmallServer, small_server

PROGRAM = """#!/bin/sh
echo asked >> {here}/asked
printf '%s' "$KUBERNETES_EXEC_INFO" > {here}/info
cat {here}/said
"""


def program(here: Path, **said: Any) -> str:
    file = here / "login.sh"
    file.write_text(PROGRAM.format(here=here))
    file.chmod(0o755)
    (here / "said").write_text(json.dumps({"kind": "ExecCredential", "status": said}))
    return str(file)


def kubeconfig(here: Path, server: str, user: Any) -> Path:
    ca = base64.b64encode(authority().pem).decode()
    document = {
        "clusters": [
            {"name": "c", "cluster": {"server": server, "certificate-authority-data": ca}}
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = here / "kubeconfig"
    file.write_text(json.dumps(document))
    return file


def by_program(command: str, version: str = "v1") -> Any:
    name = f"client.authentication.k8s.io/{version}"
    return {"exec": {"apiVersion": name, "command": command, "installHint": "install it"}}


class TokenServer(SmallServer):
    """Takes one token at a time."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token
        self.reply = self._judged

    def _judged(self, _method: str, _path: str, headers: dict[str, str]) -> Reply:
        is_known = headers.get("Authorization") == f"Bearer {self.token}"
        return (200, {"kind": "Version"}, False) if is_known else (401, {}, False)


@pytest.fixture
def server() -> Iterator[tuple[TokenServer, str]]:
    served = TokenServer("first")
    with small_server(served) as address:
        yield served, address


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_program_is_asked_for_a_token_once_until_it_is_refused(
    server: tuple[TokenServer, str], tmp_path: Path, version: str
) -> None:
    served, address = server
    user = by_program(program(tmp_path, token="first"), version)  # noqa: S106 - a test's
    client = connect(kubeconfig(tmp_path, address, user))

    assert client.read("/version") == client.read("/version") == {"kind": "Version"}
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }

    served.token = "second"  # noqa: S105 - a test's
    program(tmp_path, token="second")  # noqa: S106 - a test's
    assert client.read("/version") == {"kind": "Version"}
    assert (tmp_path / "asked").read_text() == "asked\nasked\n"
    client.close()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "printed no token"),
        ({"token": ""}, "printed no token"),
        ({"clientCertificateData": "x"}, "gives a certificate, and only tokens are taken"),
    ],
)
def test_a_program_that_gives_no_token_is_named(
    server: tuple[TokenServer, str], tmp_path: Path, said: Any, why: str
) -> None:
    command = program(tmp_path, **said)
    client = connect(kubeconfig(tmp_path, server[1], by_program(command)))

    with pytest.raises(InputError) as refused:
        client.read("/version")

    assert str(refused.value) == f"the program {command} of the kubeconfig {why} (install it)"
    client.close()


def test_a_program_that_is_not_there_or_fails_is_named(
    server: tuple[TokenServer, str], tmp_path: Path
) -> None:
    for command, why in (("/none", "is not there"), ("false", "ended with 1")):
        client = connect(kubeconfig(tmp_path, server[1], by_program(command)))
        with pytest.raises(InputError, match=f"the program {command} of the kubeconfig {why}"):
            client.read("/version")
        client.close()


def test_a_token_that_is_over_says_to_log_in_again(
    server: tuple[TokenServer, str], tmp_path: Path
) -> None:
    client: KubeClient = connect(kubeconfig(tmp_path, server[1], {"token": "old"}))

    with pytest.raises(InputError, match=r"does not know who asks .*log in again"):
        client.read("/version")
    client.close()


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"clusters": 7}', '{"clusters": [{}]}'])
def test_a_file_that_is_no_kubeconfig_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)

    with pytest.raises(InputError, match="there is no usable kubeconfig: "):
        connect(file)


def test_a_certificate_that_is_none_is_told(tmp_path: Path) -> None:
    user = {"client-certificate-data": "%", "client-key-data": "%"}

    with pytest.raises(InputError, match="the kubeconfig cannot be used: "):
        connect(kubeconfig(tmp_path, "https://127.0.0.1:9", user))
