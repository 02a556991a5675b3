"""A process of a cluster whose port is taken says which one, and by which flag."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.embedded.certificates.authority import Certificates, make_or_read

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: c1
contexts: [{name: c1, context: {cluster: c1, user: somebody}}]
clusters: [{name: c1, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: somebody, user: {token: none}}]
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_or_read(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield f"127.0.0.1:{other.getsockname()[1]}"


def words_of(command: str, certificates: Certificates) -> list[str]:
    served = {
        "operator": ("--payload-listen", "--payload-certificate", "--payload-key"),
    }.get(command, ("--listen", "--certificate", "--key"))
    values = ("127.0.0.1:0", str(certificates.certificate_file), str(certificates.key_file))
    return [command, *(f"{flag}={value}" for flag, value in zip(served, values, strict=True))]


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("operator", "--payload-listen"), ("operator", "--metrics"),
        ("payload", "--listen"), ("payload", "--metrics"),
        ("extension", "--listen"), ("extension", "--metrics"),
    ],
)  # fmt: skip
def test_a_port_that_is_taken_is_named_with_its_flag(
    command: str, flag: str, taken: str, certificates: Certificates, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    # The last of two flags counts.
    words = [*words_of(command, certificates), f"--kubeconfig={kubeconfig}", f"{flag}={taken}"]

    program = [sys.executable, "-m", "fairlead"]
    ended = subprocess.run(
        [*program, *words], check=False, capture_output=True, text=True, timeout=60
    )

    said = f"fairlead: {flag}: cannot listen at {taken}: Address already in use\n"
    assert (ended.returncode, ended.stderr[len("2026-11-19T00:00:00Z ") :]) == (2, said)
