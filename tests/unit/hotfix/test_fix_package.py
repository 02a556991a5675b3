"""The packages of a fix lie beside the agent of the image, and are the same bytes each time."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.errors import InputError
from fairlead.hotfix.publish.fix_package import NAME, SPEC, Recipe, build_fix
from fairlead.hotfix.publish.fix_sources import own_tree, version_in
from fairlead.hotfix.publish.package_file import look_at
from fairlead.hotfix.publish.packing import pack_rpm
from hotfix_depot import needs, tiny_packages
from shared_cases import REPOSITORY

BAKED = version_in(REPOSITORY / "src/fairlead/__init__.py")
BASE = BAKED.rpartition(".")[0]
FIXED = f"{BASE}.7"
HOME = f"usr/lib/fairlead-node/hotfix/{FIXED}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A fix of this very tree, by suffix."""
    needs("dpkg-deb", "rpmbuild")
    packages = build_fix(Recipe(version=FIXED, tree=own_tree()), tmp_path_factory.mktemp("fix"))
    return {path.suffix: path for path in packages}


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that an image was baked with."""
    needs("dpkg-deb", "patch")
    directory = tmp_path_factory.mktemp("agent")
    builder = REPOSITORY / "deploy/node/build_agent.py"
    subprocess.run([sys.executable, builder, directory], check=True, capture_output=True)
    return directory / f"fairlead-node_{BAKED}_all.deb"


def unpacked(package: Path, directory: Path) -> Path:
    subprocess.run(["dpkg-deb", "--extract", package, directory], check=True)
    return directory / HOME


def files_of(package: Path) -> set[str]:
    listed = subprocess.run(
        ["dpkg-deb", "--contents", package], check=True, capture_output=True, text=True
    ).stdout
    names = (line.split(None, 5)[5] for line in listed.splitlines())
    return {name.removeprefix(".") for name in names if not name.endswith("/")}


def test_two_builds_give_the_same_bytes_in_any_directory_under_any_umask(
    built: dict[str, Path], tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "fairlead", "hotfix", "build", "--version", FIXED]
    output = tmp_path / "another/place"
    subprocess.run([*words, "--to", output], check=True, umask=0o077, capture_output=True)

    for package in built.values():
        again = output / package.name
        assert sha256_of(again) == sha256_of(package)


def sha256_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_fix_lies_in_a_directory_of_its_own_and_brings_no_scripts(
    built: dict[str, Path],
) -> None:
    files = files_of(built[".deb"])

    assert all(name.startswith(f"/{HOME}/") for name in files)
    assert f"/{HOME}/fairlead-node" in files
    assert f"/{HOME}/fairlead-node.d/fairlead/agent/main.py" in files
    assert not [name for name in files if name.endswith((".pyc", ".bundle"))]
    for package in built.values():
        offered = look_at(package)
        assert (offered.component, offered.version, offered.base) == ("fairlead-node", FIXED, BASE)
    assert look_at(built[".rpm"]).stored == f"rpm/fairlead-node-hotfix-{FIXED}-1.noarch.rpm"
    assert look_at(built[".deb"]).stored == f"apt/pool/fairlead-node-hotfix_{FIXED}_all.deb"


def test_a_fix_runs_from_where_it_lies_and_passes_its_test(
    built: dict[str, Path], tmp_path: Path
) -> None:
    program = unpacked(built[".deb"], tmp_path / "root") / "fairlead-node"
    (tmp_path / "node/var/log/fairlead").mkdir(parents=True)

    def said(*words: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-IS", program, *words], check=True, capture_output=True, text=True
        )
        return ran.stdout

    assert said("version") == f"{FIXED}\n"
    assert said("self-test", f"--root={tmp_path / 'node'}").startswith("ok ")


@pytest.mark.parametrize(
    "version", [BAKED, "202501.01.7", f"{BASE}.x", f"{BASE}.7-1", "7", f"{BASE}.7.1"]
)
def test_a_version_that_no_node_would_take_is_refused(version: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        build_fix(Recipe(version=version, tree=own_tree()), tmp_path / "output")
    assert not list((tmp_path / "output").glob("*"))


PATCH = f"""\
--- a/src/fairlead/errors.py
+++ b/src/fairlead/errors.py
@@ -1,5 +1,5 @@
 \"\"\"
-The five errors, named for what the caller should do next.
+The five errors, mended.

 * FairleadError
   - InputError        a person must change something; retrying is pointless     exit 2
--- /dev/null
+++ b/src/fairlead/agent/added.py
@@ -0,0 +1 @@
+ADDED = "{FIXED}"
"""
STRANGE_FILE = """\
--- /dev/null
+++ b/tests/added.py
@@ -0,0 +1 @@
+ADDED = 1
"""
UP_AND_AWAY = """\
--- /dev/null
+++ b/../../added.py
@@ -0,0 +1 @@
+ADDED = 1
"""


def patched(agent: Path, patch: str, directory: Path) -> Path:
    (directory / "fix.diff").write_text(patch)
    recipe = Recipe(version=FIXED, base_package=agent, patch=directory / "fix.diff")
    return build_fix(recipe, directory / "output")[0]


def test_a_patch_on_the_package_of_an_image_makes_a_fix(agent: Path, tmp_path: Path) -> None:
    home = unpacked(patched(agent, PATCH, tmp_path), tmp_path / "root")

    sources = home / "fairlead-node.d/fairlead"
    assert "The five errors, mended." in (sources / "errors.py").read_text()
    assert (sources / "agent/added.py").read_text() == f'ADDED = "{FIXED}"\n'
    words = [sys.executable, "-IS", str(home / "fairlead-node"), "version"]
    ran = subprocess.run(words, check=True, capture_output=True, text=True)
    assert ran.stdout == f"{FIXED}\n"


def test_a_patched_tree_and_a_patched_package_make_the_same_agent(
    agent: Path, built: dict[str, Path], tmp_path: Path
) -> None:
    one_file = PATCH.split("--- /dev/null")[0]
    from_package = unpacked(patched(agent, one_file, tmp_path), tmp_path / "one")
    from_tree = unpacked(built[".deb"], tmp_path / "two")

    ours = {path.relative_to(from_package) for path in from_package.rglob("*")}
    theirs = {path.relative_to(from_tree) for path in from_tree.rglob("*")}
    assert ours == theirs


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (PATCH.replace("named for what", "named after"), "does not apply to the letter"),
        (PATCH.replace("exit 2", "exit 3"), "does not apply to the letter"),
        (PATCH.replace("errors.py", "no_such.py"), "does not apply to the letter"),
        (STRANGE_FILE, "adds what no agent carries: tests/added.py"),
        (UP_AND_AWAY, "(does not apply to the letter|adds what no agent carries)"),
        ("no patch at all\n", "does not apply to the letter"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_whole(
    agent: Path, tmp_path: Path, patch: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        patched(agent, patch, tmp_path)
    assert not list((tmp_path / "output").glob("*"))


SCRIPT = "write_files:\n- path: /opt/azure/containers/install.sh\n  content: |\n    exit 0\n"


def test_script_files_travel_beside_the_agent(tmp_path: Path) -> None:
    needs("dpkg-deb", "rpmbuild", "rpm2archive")
    for name in ("ubuntu22.04", "ubuntu", "azurelinux3.0"):
        (tmp_path / "scripts" / name).mkdir(parents=True)
        (tmp_path / "scripts" / name / "nodecustomdata.yml").write_text(SCRIPT)
    (tmp_path / "custom.yml").write_text(SCRIPT)
    recipe = Recipe(
        version=FIXED,
        tree=own_tree(),
        scripts=tmp_path / "scripts",
        custom_data=tmp_path / "custom.yml",
    )

    packages = build_fix(recipe, tmp_path / "output")

    assert {f"/{HOME}/{path}" for path in (
        "nodecustomdata.yml",
        "scripts/ubuntu/nodecustomdata.yml",
        "scripts/ubuntu22.04/nodecustomdata.yml",
        "scripts/azurelinux3.0/nodecustomdata.yml",
    )} <= files_of(packages[0])  # fmt: skip
    assert [look_at(package).version for package in packages] == [FIXED, FIXED]


LOOKED_FOR = "which no node looks for"
REFUSED = "which nodes refuse whole"
NOT_TAKEN = [
    ("ubuntu22.04/install.sh", "exit 0\n", LOOKED_FOR),
    ("nodecustomdata.yml", SCRIPT, LOOKED_FOR),
    ("Ubuntu/nodecustomdata.yml", SCRIPT, LOOKED_FOR),
    ("ubuntu/22.04/nodecustomdata.yml", SCRIPT, LOOKED_FOR),
    ("ubuntu/nodecustomdata.yml", "write_files: []\n", REFUSED),
    ("ubuntu/nodecustomdata.yml", f"{SCRIPT}runcmd:\n- reboot\n", REFUSED),
]


@pytest.mark.parametrize(("path", "text", "told"), NOT_TAKEN)
def test_script_files_that_no_node_takes_are_neither_built_nor_published(
    tmp_path: Path, path: str, text: str, told: str
) -> None:
    needs("dpkg-deb", "rpmbuild", "rpm2archive")
    file = tmp_path / "scripts" / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    recipe = Recipe(version=FIXED, tree=own_tree(), scripts=tmp_path / "scripts")
    with pytest.raises(InputError, match=f"--scripts brings scripts/{path}, {told}"):
        build_fix(recipe, tmp_path / "output")

    inside = f"{HOME}/scripts/{path}"
    deb = packed(tmp_path, control(), {**PROGRAM, inside: text})
    for package in (deb, packed_rpm(tmp_path, {**PROGRAM, inside: text})):
        with pytest.raises(InputError, match=f"{package.name} brings scripts/{path}, {told}"):
            look_at(package)


def packed_rpm(directory: Path, files: dict[str, str]) -> Path:
    """An .rpm that somebody made by hand."""
    building, package = directory / "rpm", directory / f"{NAME}-{FIXED}-1.noarch.rpm"
    for name, text in files.items():
        (building / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (building / "root" / name).write_text(text)
    listed = "\n".join(f"/{name}" for name in files)
    spec = building / "fix.spec"
    base = FIXED.rpartition(".")[0]
    day = "Mon Nov 16 2026"
    spec.write_text(
        SPEC.format(name=NAME, version=FIXED, base=base, files=f"%dir /{HOME}\n{listed}", day=day)
    )
    pack_rpm(building, spec, package, 1_700_000_000)
    return package


def test_custom_data_that_no_node_reads_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "custom.yml").write_text("write_files: []\n")
    recipe = Recipe(version=FIXED, tree=own_tree(), custom_data=tmp_path / "custom.yml")

    with pytest.raises(InputError, match=r"--nodecustomdata brings .* nodes refuse whole"):
        build_fix(recipe, tmp_path / "output")


def test_a_link_among_script_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scripts/debian12").mkdir(parents=True)
    (tmp_path / "scripts/debian12/nodecustomdata.yml").symlink_to("/etc/passwd")
    recipe = Recipe(version=FIXED, tree=own_tree(), scripts=tmp_path / "scripts")

    with pytest.raises(InputError, match="is no plain file"):
        build_fix(recipe, tmp_path / "output")


def packed(directory: Path, control: str, files: dict[str, str]) -> Path:
    """A .deb that somebody made by hand."""
    root = directory / "root"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    (root / "DEBIAN").mkdir(exist_ok=True)
    (root / "DEBIAN").chmod(0o755)
    (root / "DEBIAN/control").write_text(control)
    package = directory / "made.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "--build", root, package],
        check=True,
        capture_output=True,
    )
    return package


def control(name: str = "fairlead-node-hotfix", version: str = FIXED) -> str:
    return (
        f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.test>\nDescription: made by hand\n"
    )


PROGRAM = {f"{HOME}/fairlead-node": "#!/bin/sh\n"}


@pytest.mark.parametrize(
    ("text", "files", "told"),
    [
        (control("fairlead-node"), PROGRAM, "is the package fairlead-node, expected"),
        (control(version=f"{FIXED}-1"), PROGRAM, "expected YYYYMM.DD.PATCH"),
        (control(), {"usr/lib/fairlead/fairlead-node": "x"}, "brings /usr/lib/fairlead, expected"),
        (control(), {**PROGRAM, "DEBIAN/postinst": "#!/bin/sh\n"}, "brings postinst: a fix runs"),
        (control(), {f"{HOME}x/fairlead-node": "x"}, "expected plain files below"),
    ],
)
def test_a_package_that_would_change_a_node_is_not_published(
    tmp_path: Path, text: str, files: dict[str, str], told: str
) -> None:
    needs("dpkg-deb")
    with pytest.raises(InputError, match=told):
        look_at(packed(tmp_path, text, files))


def test_a_link_in_a_package_is_not_published(tmp_path: Path) -> None:
    needs("dpkg-deb")
    (tmp_path / "root" / HOME).mkdir(parents=True)
    (tmp_path / "root" / HOME / "fairlead-node").symlink_to("/bin/sh")
    with pytest.raises(InputError, match="expected plain files below"):
        look_at(packed(tmp_path, control(), {}))


def test_a_package_of_the_aks_agent_is_as_its_makers_built_it(tmp_path: Path) -> None:
    needs("dpkg-deb")
    text = control("aks-node-controller", "202604.01.3-ubuntu22.04u1")

    offered = look_at(packed(tmp_path, text, {"opt/azure/containers/aks-node-controller": "x"}))

    assert (offered.component, offered.version) == ("aksNodeController", "202604.01.3")
    assert offered.stored == "apt/pool/aks-node-controller_202604.01.3-ubuntu22.04u1_all.deb"


def test_half_a_package_is_none(tmp_path: Path) -> None:
    needs("dpkg-deb", "rpmbuild")
    for package in tiny_packages(tmp_path, FIXED):
        half = tmp_path / f"half{package.suffix}"
        half.write_bytes(package.read_bytes()[: package.stat().st_size // 2])
        with pytest.raises(InputError, match="is no whole package"):
            look_at(half)
    shutil.copy(half, tmp_path / "half.txt")
    with pytest.raises(InputError, match=r"is no \.deb and no \.rpm"):
        look_at(tmp_path / "half.txt")


@pytest.mark.slow
def test_a_fix_is_built_where_temporary_files_lie_on_another_file_system(
    built: dict[str, Path], tmp_path: Path
) -> None:
    memory = Path("/dev/shm")  # noqa: S108 - another file system, which every Linux has
    if memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("NOT RUN: temporary directories lie in memory here, as /dev/shm does")
    words = [sys.executable, "-m", "fairlead", "hotfix", "build", "--version", FIXED]

    subprocess.run(
        [*words, "--to", tmp_path], env={**os.environ, "TMPDIR": str(memory)}, check=True
    )

    assert {path.suffix: path.read_bytes() for path in tmp_path.iterdir()} == {
        suffix: path.read_bytes() for suffix, path in built.items()
    }
