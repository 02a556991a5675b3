"""The image of operator and services, built by buildah as its file says, on a Debian root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from boot.node import missing_tools
from boot.roots import base_root
from kube.built_tools import refuse
from shared_cases import REPOSITORY

pytestmark = [pytest.mark.root, pytest.mark.slow]

PACKAGES = ("ca-certificates", "python-is-python3", "python3", "python3-venv")
BASE, IMAGE = "localhost/fairlead-test-base", "localhost/fairlead-operator"

# Where pip finds packages, and whom it believes, may be particular to this computer.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
PIP_SETTINGS = Path("/etc/pip.conf")


class Buildah:
    """buildah with its images in a directory, without a daemon and without namespaces."""

    def __init__(self, directory: Path) -> None:
        self._words = ["buildah", "--storage-driver", "vfs"]
        self._words += ["--root", str(directory / "images"), "--runroot", str(directory / "run")]

    def __call__(self, *words: str, deadline_s: float = 600) -> str:
        ran = subprocess.run(
            [*self._words, *words],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=deadline_s,
        )
        assert ran.returncode == 0, ran.stdout
        return ran.stdout.strip()

    def run(self, container: str, *words: str) -> str:
        """What a program in a container says."""
        return self("run", "--isolation", "chroot", container, "--", *words)


@pytest.fixture
def buildah(tmp_path: Path) -> Iterator[Buildah]:
    if missing := missing_tools("mmdebstrap", "buildah"):
        refuse(f"{', '.join(missing)} missing")
    program = Buildah(tmp_path)
    yield program
    program("rm", "--all")


def make_base(buildah: Buildah) -> None:
    """An image with Python, as a registry would have it."""
    container = buildah("from", "scratch")
    buildah("add", container, str(base_root("trixie", PACKAGES)), "/")
    authorities = os.environ.get("SSL_CERT_FILE", AUTHORITIES)
    buildah("copy", container, authorities, AUTHORITIES)
    if PIP_SETTINGS.exists():
        buildah("copy", container, str(PIP_SETTINGS), str(PIP_SETTINGS))
    buildah("config", "--env", f"PIP_CERT={AUTHORITIES}", container)
    buildah("commit", "--rm", container, BASE)


def test_the_image_is_built_as_its_file_says_and_runs_every_program_without_rights(
    buildah: Buildah,
) -> None:
    make_base(buildah)
    file = REPOSITORY / "deploy" / "kube" / "Containerfile"
    buildah(
        *("build", "--isolation", "chroot", "--build-arg", f"BASE={BASE}", "--file", str(file)),
        *("--tag", IMAGE, str(REPOSITORY)),
    )
    container = buildah("from", IMAGE)
    fairlead = "/opt/fairlead/bin/fairlead"

    assert buildah.run(container, "id", "-u") == "65532"
    for command in ("operator", "payload", "extension", "hotfix serve"):
        says = buildah.run(container, fairlead, *command.split(), "--help")
        assert says.startswith(f"usage: fairlead {command}")
    # As the pods of changes in place begin, on a node's root: --in-place-image.
    assert buildah.run(container, "chroot", "--version").startswith("chroot (GNU coreutils)")
    # What each of them needs beside the standard library is there.
    loaded = "import grpc, lightkube, starlette, uvicorn, fairlead.kube.operator"
    assert buildah.run(container, "/opt/fairlead/bin/python", "-c", loaded) == ""
    assert buildah.run(container, "sh", "-c", "ls -d /source 2>&1 || true").endswith(
        "No such file or directory"
    )
    entry = buildah("inspect", "--format", "{{.OCIv1.Config.Entrypoint}}", container)
    assert entry == f"[{fairlead}]"
