"""
Build what ships to nodes: one directory tree, and a .deb and an .rpm made of it.

The tree is `fairlead-node`, a short program, and `fairlead-node.d`, the packages it imports, so
that a second version can lie beside the first under another name. Byte code is compiled for the
building interpreter in the tree, and on the machine when a package is installed: it differs
between Python versions. It is there twice: as the bundle that the agent runs from, and module by
module for a start that cannot use the bundle. Two builds of one commit give the same bytes.

    python3 deploy/node/build_agent.py build
"""

import argparse
import compileall
import gzip
import py_compile
import shutil
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "src"))

from fairlead.agent.bundle.make import key_of, read_sources  # noqa: E402
from fairlead.agent.bundle.make import main as write_bundle  # noqa: E402
from fairlead.hotfix.publish.packing import pack_deb, pack_rpm, settle, source_epoch  # noqa: E402

SOURCE = REPOSITORY / "src" / "fairlead"
SHIPPED = ("__init__.py", "errors.py", "contract", "trust", "agent")

INSTALLED = "usr/lib/fairlead"
PROGRAM = "fairlead-node"

UNITS = REPOSITORY / "deploy" / "node" / "units"
UNIT_DIRECTORY = "usr/lib/systemd/system"

PACKAGING = REPOSITORY / "deploy" / "node" / "packaging"
SCRIPTS = ("after-install.sh", "before-remove.sh", "before-replace.sh")
DOCUMENTS = f"usr/share/doc/{PROGRAM}"
MANUAL = f"usr/share/man/man8/{PROGRAM}.8.gz"
LINTIAN = f"usr/share/lintian/overrides/{PROGRAM}"

# User data written for AKS images starts the unit by this name. A unit of the same name in
# /etc/systemd/system, as the AKS images bring one, goes before it.
AKS_NAMES = {
    "aks-node-controller.service": "fairlead-node.service",
    "aks-node-controller.path": "fairlead-node.path",
}

# Run with -I: no environment and no working directory on the import path; and with -S: no
# site-packages, which saves 2.5 ms, and 25 ms where somebody dropped a .pth file; and with -X utf8:
# the C library's conversions of names and arguments cost a fourteenth of a start.
LAUNCHER = REPOSITORY / "deploy" / "node" / "launcher.py"


def main() -> int:
    """Build into the directory given; print what was built."""
    parser = argparse.ArgumentParser(description="Build the agent's tree, .deb and .rpm.")
    parser.add_argument("output", type=Path, help="the directory to build into, e.g. build")
    parser.add_argument("--version", help="YYYYMM.DD.PATCH; the default is the source's own")
    parser.add_argument("--sources", action="store_true", help="lay out the sources, and no more")
    arguments = parser.parse_args()
    version = arguments.version or source_version()
    if arguments.sources:
        lay_out(arguments.output, version)
        return 0
    tree = build_tree(arguments.output / "agent", version)
    sys.stdout.write(f"{tree / INSTALLED / PROGRAM}\n")
    if shutil.which("dpkg-deb") is None:
        sys.stderr.write("dpkg-deb is not installed here, so no .deb was made (Debian: dpkg)\n")
        return 1
    sys.stdout.write(f"{build_deb(arguments.output, version)}\n")
    if shutil.which("rpmbuild") is None:
        sys.stderr.write("rpmbuild is not installed here, so no .rpm was made (Debian: rpm)\n")
        return 0
    sys.stdout.write(f"{build_rpm(arguments.output, version)}\n")
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
    write_bundle(str(packages))
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
    # A bundle is used by the program that was built from the same sources, and by no other.
    key = key_of(read_sources(str(packages.parent)))
    program.write_text(LAUNCHER.read_text().replace("KEY = 0 ", f"KEY = {key} "))
    program.chmod(0o755)


def lay_out_package(root: Path, version: str) -> None:
    """Make the root directory hold every file of a package, and nothing else."""
    lay_out(root, version)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin" / PROGRAM).symlink_to(f"../{Path(INSTALLED).relative_to('usr')}/{PROGRAM}")
    shutil.copytree(UNITS, root / UNIT_DIRECTORY)
    for name, target in AKS_NAMES.items():
        (root / UNIT_DIRECTORY / name).symlink_to(target)
    put_gzipped(root / MANUAL, (PACKAGING / f"{PROGRAM}.8").read_text())
    (root / DOCUMENTS).mkdir(parents=True)
    shutil.copy(PACKAGING / "copyright", root / DOCUMENTS / "copyright")


def put_gzipped(path: Path, text: str) -> None:
    """Write this text as packages carry it: packed, without the time of packing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def packaging_text(name: str, values: dict[str, str]) -> str:
    """Return a file of packaging/ with these values, and the scripts both packages share, in it."""
    text = (PACKAGING / name).read_text()
    for script in SCRIPTS:
        marker = script.removesuffix(".sh").replace("-", "_").upper()
        values = {**values, marker: (PACKAGING / script).read_text().rstrip()}
    for marker, value in values.items():
        text = text.replace(f"@{marker}@", value)
    return text


def build_deb(output: Path, version: str) -> Path:
    """Pack the sources and units as a .deb whose bytes depend on the commit only."""
    root = output / "deb-root"
    lay_out_package(root, version)
    epoch = source_epoch(REPOSITORY)
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    values = {"VERSION": version, "DATE": date}
    put_gzipped(root / DOCUMENTS / "changelog.gz", packaging_text("changelog", values))
    (root / LINTIAN).parent.mkdir(parents=True)
    shutil.copy(PACKAGING / "lintian-overrides", root / LINTIAN)
    names = ("control", "postinst", "prerm")
    package = output / f"fairlead-node_{version}_all.deb"
    control = {name: packaging_text(name, values) for name in names}
    pack_deb(root, control, package, epoch)
    return package


def build_rpm(output: Path, version: str) -> Path:
    """Pack the same files as an .rpm whose bytes depend on the commit only."""
    top = (output / "rpm").resolve()
    root = top / "root"
    shutil.rmtree(top, ignore_errors=True)
    lay_out_package(root, version)
    epoch = source_epoch(REPOSITORY)
    settle(root, epoch)
    marks = {f"{DOCUMENTS}/copyright": "%license ", MANUAL: "%doc "}
    packed = [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if not path.is_dir()]
    files = [f"{marks.get(path, '')}/{path}" for path in packed]
    directories = [f"%dir /{INSTALLED}", f"%dir /{INSTALLED}/{PROGRAM}.d"]
    spec = top / "fairlead-node.spec"
    # The day of a change is part of its header, in English, as the C locale has it.
    day = time.strftime("%a %b %d %Y", time.gmtime(epoch))
    values = {"VERSION": version, "FILES": "\n".join(directories + files), "DAY": day}
    spec.write_text(packaging_text("fairlead-node.spec", values))
    package = output / f"fairlead-node-{version}-1.noarch.rpm"
    pack_rpm(top, spec, package, epoch)
    return package


if __name__ == "__main__":
    sys.exit(main())
