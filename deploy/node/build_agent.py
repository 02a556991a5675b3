"""
Build what ships to nodes: one directory tree, and one .deb made of it.

The tree is `fairlead-node`, a six-line program, and `fairlead-node.d`, the packages it imports, so
that a second version can lie beside the first under another name. Byte code is compiled for the
building interpreter in the tree, and on the machine when the .deb is installed: it differs
between Python versions. Two builds of one commit give the same bytes.

    python3 deploy/node/build_agent.py build
"""

import argparse
import compileall
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SOURCE = REPOSITORY / "src" / "fairlead"
SHIPPED = ("__init__.py", "errors.py", "contract", "agent")

INSTALLED = "usr/lib/fairlead"
PROGRAM = "fairlead-node"

# -I: no environment and no working directory on the import path. -S: no site-packages, which
# saves 2.5 ms, and 25 ms where somebody dropped a .pth file.
LAUNCHER = """\
#!/usr/bin/python3 -IS
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.realpath(__file__) + ".d")
from fairlead.agent.main import main
os._exit(main())
"""

CONTROL = """\
Package: fairlead-node
Version: {version}
Architecture: all
Maintainer: Fairlead maintainers <maintainers@fairlead.invalid>
Depends: python3 (>= 3.10)
Section: admin
Priority: optional
Description: turns this machine into a Kubernetes node, and says what happened
 One process from the first byte of user data to provision.complete, with a
 crash-safe record of every stage.
"""

# Unchecked: the first boot neither compares time stamps nor writes a cache.
POSTINST = """\
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/fairlead/fairlead-node.d
"""

PRERM = """\
#!/bin/sh
set -e
find /usr/lib/fairlead/fairlead-node.d -name __pycache__ -type d -exec rm -rf {} +
"""


def main() -> int:
    """Build into the directory given; print what was built."""
    parser = argparse.ArgumentParser(description="Build the agent's tree and .deb.")
    parser.add_argument("output", type=Path, help="the directory to build into, e.g. build")
    parser.add_argument("--version", help="YYYYMM.DD.PATCH; the default is the source's own")
    arguments = parser.parse_args()
    version = arguments.version or source_version()
    tree = build_tree(arguments.output / "agent", version)
    sys.stdout.write(f"{tree / INSTALLED / PROGRAM}\n")
    if shutil.which("dpkg-deb") is None:
        sys.stderr.write("dpkg-deb is not installed here, so no .deb was made (Debian: dpkg)\n")
        return 1
    sys.stdout.write(f"{build_deb(arguments.output, version)}\n")
    return 0


def source_version() -> str:
    """Return the version in src/fairlead/__init__.py."""
    namespace: dict[str, str] = {}
    exec((SOURCE / "__init__.py").read_text(), namespace)  # noqa: S102 - our own constant
    return namespace["__version__"]


def build_tree(root: Path, version: str) -> Path:
    """Make the root directory hold the agent and nothing else, with byte code compiled."""
    lay_out(root, version)
    packages = root / INSTALLED / f"{PROGRAM}.d"
    compileall.compile_dir(
        packages,
        quiet=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        stripdir=str(root),
    )
    return root


def lay_out(root: Path, version: str) -> None:
    """Make the root directory hold the sources of the agent and nothing else."""
    shutil.rmtree(root, ignore_errors=True)
    packages = root / INSTALLED / f"{PROGRAM}.d" / "fairlead"
    packages.mkdir(parents=True)
    for name in SHIPPED:
        source = SOURCE / name
        if source.is_dir():
            shutil.copytree(source, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, packages / name)
    initial = packages / "__init__.py"
    initial.write_text(initial.read_text().replace(source_version(), version))
    program = root / INSTALLED / PROGRAM
    program.write_text(LAUNCHER)
    program.chmod(0o755)


def build_deb(output: Path, version: str) -> Path:
    """Pack the sources as a .deb whose bytes depend on the commit only."""
    root = output / "deb-root"
    lay_out(root, version)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin" / PROGRAM).symlink_to(f"/{INSTALLED}/{PROGRAM}")
    scripts = {"control": CONTROL.format(version=version), "postinst": POSTINST, "prerm": PRERM}
    (root / "DEBIAN").mkdir()
    for name, text in scripts.items():
        (root / "DEBIAN" / name).write_text(text)
        (root / "DEBIAN" / name).chmod(0o644 if name == "control" else 0o755)
    epoch = source_epoch()
    for path in sorted(root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    package = output / f"fairlead-node_{version}_all.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(root), str(package)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    shutil.rmtree(root)
    return package


def source_epoch() -> int:
    """Return the time of the commit, or a fixed one outside a repository."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    shown = subprocess.run(
        ["git", "-C", str(REPOSITORY), "log", "-1", "--format=%ct"],
        capture_output=True,
        text=True,
        check=False,
    )
    return int(shown.stdout) if shown.returncode == 0 else 1_700_000_000


if __name__ == "__main__":
    sys.exit(main())
