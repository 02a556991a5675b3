"""
Programs in the place of the AKS node controller, and the package source that an AKS image has.

They know the words that matter to a fix: `version`, `check-hotfix`, which leaves a pointer, and
`provision`, which leaves who it was and a verdict. The package is called, versioned and laid out as
AKS's own.
"""

import shutil
import subprocess
from pathlib import Path

from boot.test_apt_fix import run, sign

BASE = "202604.01"
BAKED = f"{BASE}.0"
FIXED = f"{BASE}.3"
# As AKS marks the packages for one distribution.
MARKED = f"{FIXED}-ubuntu22.04u1"

CONTAINERS = "opt/azure/containers"
PROGRAM = f"{CONTAINERS}/aks-node-controller"
STAGED = f"{PROGRAM}-hotfix"
PROVISIONED_BY = "var/lib/boot-test/provisioned-by"
KEYRING = "usr/share/keyrings/microsoft-prod.gpg"
SOURCES = "etc/apt/sources.list.d"

ONE_LINE = f"deb [signed-by=/{KEYRING}] copy:/srv/repository ./\n"
DEB822 = f"Types: deb\nURIs: copy:/srv/repository\nSuites: ./\nSigned-By: /{KEYRING}\n"

AGENT = """\
#!/bin/sh
case "$1" in
version) echo {version} ;;
check-hotfix) echo '{{"hotfixes": {{"{base}": "{fixed}"}}}}' >/{program}-hotfix.json ;;
provision)
    mkdir -p /var/lib/boot-test /var/log/azure/aks
    echo {version} >>/{provisioned_by}
    echo '{{"ExitCode": "0", "Error": "", "Output": ""}}' >/var/log/azure/aks/provision.json
    touch /{containers}/provision.complete ;;
*) exit 1 ;;
esac
"""

# Of an ELF header: where the machine stands, and the number of one that nobody here has.
ELF_MACHINE = slice(18, 20)
ANOTHER_MACHINE = (22).to_bytes(2, "little")  # IBM S/390
CUT = 200


def agent(version: str) -> bytes:
    """A program that works."""
    text = AGENT.format(
        version=version,
        base=BASE,
        fixed=FIXED,
        program=PROGRAM,
        provisioned_by=PROVISIONED_BY,
        containers=CONTAINERS,
    )
    return text.encode()


def of_another_machine() -> bytes:
    """A program of another processor."""
    content = bytearray(Path("/bin/true").resolve().read_bytes())
    content[ELF_MACHINE] = ANOTHER_MACHINE
    return bytes(content)


DIES = f'#!/bin/sh\n[ "$1" = version ] && echo {FIXED} && exit\nkill -KILL $$\n'.encode()

# What is wrong with a fix, and what a boot says of it.
BROKEN = {
    "crashes": (b"#!/bin/sh\nkill -SEGV $$\n", "staged agent fails version with exit code 139"),
    "hangs": (
        b"#!/bin/sh\nsetsid sleep 98765 &\nsleep 98765\n",
        "staged agent hangs in version",
    ),
    "says another version": (
        agent(f"{BASE}.30"),
        f"staged agent says version '{BASE}.30', expected '{FIXED}'",
    ),
    "is cut short": (Path("/bin/true").resolve().read_bytes()[:CUT], "staged agent does not start"),
    "is for another machine": (
        of_another_machine(),
        "staged agent does not start: [Errno 8] Exec format error",
    ),
    "dies while it provisions": (DIES, "staged agent died with exit code 137 while it provisioned"),
}


def make_package(
    repository: Path, program: bytes, version: str = MARKED, path: str = "usr/bin/{name}"
) -> Path:
    """Put a package of the agent into a repository."""
    name = "aks-node-controller"
    tree = repository.parent / f"tree-{version}"
    file = tree / path.format(name=name)
    file.parent.mkdir(parents=True)
    file.write_bytes(program)
    file.chmod(0o755)
    architecture = run("dpkg", "--print-architecture").strip()
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n"
        "Maintainer: nobody <nobody@example.invalid>\nDescription: stands for AKS's agent\n"
    )
    package = repository / "pool" / f"{name}_{version}_{architecture}.deb"
    package.parent.mkdir(parents=True, exist_ok=True)
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, package)
    shutil.rmtree(tree)
    return package


def make_image(root: Path) -> None:
    """Bake the agent and a package source into a root; sign_source makes that usable."""
    baked = root / PROGRAM
    baked.parent.mkdir(parents=True, exist_ok=True)
    baked.write_bytes(agent(BAKED))
    baked.chmod(0o750)
    sources = root / SOURCES
    sources.mkdir(parents=True, exist_ok=True)
    (sources / "microsoft-prod.list").write_text(ONE_LINE)
    # Whoever asked this one, too, would fail: there is no network here.
    (sources / "elsewhere.list").write_text("deb http://192.0.2.1/elsewhere ./\n")


def sign_source(root: Path, home: Path) -> None:
    """Sign what is in the repository, and give the image the key."""
    keyring = root / KEYRING
    keyring.parent.mkdir(parents=True, exist_ok=True)
    keyring.write_bytes(sign(root / "srv/repository", home))


def processes_of(name: str) -> list[str]:
    """The command lines of all processes in the control groups of a node."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if name in (entry / "cgroup").read_text():
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(words.decode(errors="replace"))
        except OSError:
            continue  # gone meanwhile
    return found


def stat_of(path: Path) -> str:
    """What changes if anybody touches a file: its bytes, number, mode and times."""
    seen = path.stat()
    digest = subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True).stdout
    return f"{digest} {seen.st_ino} {seen.st_mode} {seen.st_mtime_ns}"
