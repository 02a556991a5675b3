"""A fix on a directory machine: fetched, unpacked, proven, used; else the baked agent goes on."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from hashlib import sha256
from pathlib import Path

import pytest

from boot.broken_fixes import MULTIPLYING
from builders import VALID_CONFIG
from fairlead import __version__
from fairlead.hotfix.publish.fix_package import Recipe, build_fix
from process.agent_process import agent_environment, make_aks_node
from process.test_work_apart import alive
from process.tls_server import Handler, answer, hang, make_pair, serving
from shared_cases import REPOSITORY

BASE = __version__.rpartition(".")[0]
FIXED = f"{BASE}.9999"
PREFIX = "usr/lib/fairlead-node/hotfix"
AKS = "opt/azure/containers"
LIMITS = {"decide_s": 4, "install_s": 8}

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    return directory


def pack(
    directory: Path, program: str | None = None, documents: dict[str, str] | None = None
) -> bytes:
    """A package of a fix of ours; with a program or documents of the test's own, if given."""
    place = directory / "tree" / PREFIX / FIXED
    place.mkdir(parents=True)
    if program is None:
        build = (
            f"import sys; sys.path.insert(0, {str(REPOSITORY / 'deploy/node')!r})\n"
            "from pathlib import Path; from build_agent import lay_out\n"
            f"lay_out(Path({str(directory / 'agent')!r}), {FIXED!r})"
        )
        subprocess.run([sys.executable, "-c", build], check=True)
        shutil.copytree(directory / "agent/usr/lib/fairlead", place, dirs_exist_ok=True)
    else:
        (place / "fairlead-node").write_text(program)
        (place / "fairlead-node").chmod(0o755)
    for name, text in (documents or {}).items():
        (place / name).write_text(text)
    control = directory / "tree/DEBIAN/control"
    control.parent.mkdir()
    control.write_text(
        f"Package: fairlead-node-hotfix\nVersion: {FIXED}\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.invalid>\nDescription: a fix\n"
    )
    package = directory / "fix.deb"
    words = ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build"]
    subprocess.run(
        [*words, str(directory / "tree"), str(package)], check=True, stdout=subprocess.DEVNULL
    )
    return package.read_bytes()


@pytest.fixture(scope="module")
def good_package(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return pack(tmp_path_factory.mktemp("good"))


class Booted:
    """How one boot went."""

    def __init__(self, root: Path, took_s: float, survivors: list[str]) -> None:
        self.root = root
        self.took_s = took_s
        self.survivors = survivors
        status = json.loads((root / "var/log/azure/aks/provision.json").read_text())
        self.exit_code = status["ExitCode"]
        self.status_fact = status["fairlead"]["facts"].get("hotfix")
        text = (root / "var/log/azure/aks-node-controller-record.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        first = next(at for at, line in enumerate(lines) if line.get("run") == "run-1")
        own = lines[first:]
        self.fact = [line["value"] for line in own if line.get("fact") == "hotfix"][-1]
        stages = {line["stage"]: line for line in own if "stage" in line}
        self.fix_ms = sum(stages[name]["took"] for name in ("download-hotfix", "choose-agent"))
        self.causes = {line["stage"]: line["cause"] for line in own if "stage" in line}


def make_machine(root: Path, limits: dict[str, int]) -> None:
    make_aks_node(root, VALID_CONFIG)
    hotfix = root / "etc/fairlead/hotfix"
    hotfix.mkdir(parents=True)
    (hotfix / "root.json").write_text("{}")
    (hotfix / "service.json").write_text(json.dumps(limits))


def boot(
    tmp_path: Path, certificates: Path, package: bytes, *handlers: Handler, fault: str = ""
) -> Booted:
    root = tmp_path / "machine"
    if not root.exists():
        waits_for_its_deadline = fault.startswith("stop") or hang in handlers
        make_machine(root, {"install_s": 2} if waits_for_its_deadline else LIMITS)
    (root / AKS / "aks-node-controller-hotfix.json").write_text(
        json.dumps({"hotfixes": {BASE: FIXED}})
    )
    mark = uuid.uuid4().hex
    words = [root, FIXED, len(package), sha256(package).hexdigest()]
    words += fault.split()
    with serving(certificates, *(handlers or (answer(200, package),))) as server:
        document = {
            "endpoint": server.endpoint,
            "ca": (certificates / "good-ca.pem").read_text(),
            "token": "abc",
        }
        (root / AKS / "fairlead-boot-document.json").write_text(json.dumps(document))
        began = time.monotonic()
        paths = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY / "tests")])
        with (tmp_path / "said").open("wb") as said:
            subprocess.run(
                [sys.executable, Path(__file__).with_name("fixed_boot.py"), *map(str, words)],
                env=agent_environment(PYTHONPATH=paths, FAIRLEAD_TEST_MARK=mark),
                stdout=said,
                stderr=said,
                timeout=120,
                check=False,
            )
        took_s = time.monotonic() - began
    return Booted(root, took_s, alive(mark))


def test_a_fix_is_fetched_unpacked_proven_and_provisions(
    tmp_path: Path, certificates: Path, good_package: bytes
) -> None:
    booted = boot(tmp_path, certificates, good_package)

    assert booted.fact == {"baked": __version__, "wanted": FIXED, "used": FIXED}
    assert booted.status_fact == booted.fact
    assert booted.exit_code == "0"
    assert booted.causes["download-hotfix"] == f"{FIXED} unpacked"
    assert booted.causes["choose-agent"] == f"staged agent {FIXED}"
    staged = booted.root / AKS / "aks-node-controller-hotfix"
    assert str(staged.readlink()) == f"../../../{PREFIX}/{FIXED}/fairlead-node"
    assert sorted(path.name for path in (booted.root / PREFIX).iterdir()) == [FIXED]
    assert booted.survivors == []


def test_what_is_installed_is_not_fetched_again(
    tmp_path: Path, certificates: Path, good_package: bytes
) -> None:
    boot(tmp_path, certificates, good_package)

    again = boot(tmp_path, certificates, good_package, answer(500))

    assert again.causes["download-hotfix"] == f"{FIXED} was installed already"
    assert again.fact["used"] == FIXED


SCRIPT = """\
write_files:
- path: /opt/azure/containers/provision_start.sh
  permissions: "0644"
  content: |
    echo {which} > {root}/provisioned-by
- path: /opt/azure/containers/not-in-this-image.sh
  content: |
    exit 1
"""


@pytest.mark.parametrize(
    ("release", "which"),
    [('ID=ubuntu\nVERSION_ID="22.04"\n', "ubuntu22.04"), ("ID=debian\n", "all")],
)
def test_script_files_of_a_published_fix_are_what_the_same_boot_provisions_with(
    tmp_path: Path, certificates: Path, release: str, which: str
) -> None:
    root = tmp_path / "machine"
    for name in ("ubuntu22.04", "ubuntu"):
        place = tmp_path / "scripts" / name
        place.mkdir(parents=True)
        (place / "nodecustomdata.yml").write_text(SCRIPT.format(which=name, root=root))
    (tmp_path / "all.yml").write_text(SCRIPT.format(which="all", root=root))
    recipe = Recipe(
        version=FIXED,
        tree=REPOSITORY,
        scripts=tmp_path / "scripts",
        custom_data=tmp_path / "all.yml",
    )
    package = build_fix(recipe, tmp_path / "built")[0].read_bytes()
    make_machine(root, LIMITS)
    (root / "etc/os-release").write_text(release)

    booted = boot(tmp_path, certificates, package)

    assert booted.causes["choose-agent"] == f"staged agent {FIXED}, 1 script files written"
    assert booted.fact["used"] == FIXED
    assert (root / "provisioned-by").read_text() == f"{which}\n"
    assert not (root / AKS / "not-in-this-image.sh").exists()


def test_script_files_that_a_node_cannot_read_refuse_the_fix_that_brings_them(
    tmp_path: Path, certificates: Path
) -> None:
    package = pack(tmp_path / "package", documents={"nodecustomdata.yml": "write_files: []\n"})

    booted = boot(tmp_path, certificates, package)

    assert "used" not in booted.fact
    assert "nodecustomdata.yml is refused whole" in booted.fact["cause"]
    assert booted.exit_code == "0"


HANG = "#!/bin/sh\nsetsid sleep 1000 &\nsleep 1000\n"
BOMB = f"#!/usr/bin/python3 -ISXutf8\n{MULTIPLYING}"
BROKEN = {
    "crashes": ("#!/bin/sh\nkill -SEGV $$\n", "staged agent fails version with exit code 139"),
    "hangs": (HANG, "staged agent hangs in version"),
    "says another version": ("#!/bin/sh\necho 202001.01.1\n", "says version '202001.01.1'"),
    "is cut short": ("#!/usr/bin/python3 -ISXutf8\nimport ", "staged agent fails version"),
    "is of another machine": ("\x7fELF\x02\x01\x01no such architecture", "does not start"),
    "fails its self-test": (
        f'#!/bin/sh\n[ "$1" = version ] && echo {FIXED} && exit\nexit 7\n',
        "staged agent fails self-test with exit code 7",
    ),
    "is a fork bomb": (BOMB, "staged agent"),
}


# Those take their whole share of the deadline.
LONG = ("hangs", "is a fork bomb")


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.slow) if how in LONG else how for how in BROKEN]
)
def test_a_broken_fix_leaves_the_baked_agent_to_provision_in_the_same_boot(
    tmp_path: Path, certificates: Path, how: str
) -> None:
    program, expected = BROKEN[how]

    booted = boot(tmp_path, certificates, pack(tmp_path / "package", program))

    assert booted.exit_code == "0"
    assert "used" not in booted.fact
    assert booted.fact["wanted"] == FIXED
    assert expected in booted.fact["cause"]
    assert booted.causes["choose-agent"] == booted.fact["cause"]
    assert booted.survivors == []
    assert booted.took_s < LIMITS["install_s"] + 4


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (answer(200, b"another package"), "is not the package that was signed"),
        (answer(404), "status 404"),
        (answer(503), "status 503"),
        (hang, "timed out"),
    ],
    ids=["other-bytes", "not-there", "broken", "hangs"],
)
def test_a_package_that_does_not_come_costs_no_more_than_the_deadline(
    tmp_path: Path, certificates: Path, good_package: bytes, handler: Handler, expected: str
) -> None:
    booted = boot(tmp_path, certificates, good_package, handler)

    assert booted.exit_code == "0"
    assert expected in booted.fact["cause"]
    assert not (booted.root / AKS / "aks-node-controller-hotfix").exists()


@pytest.mark.parametrize("step", [3, 12, 20])
def test_a_fix_path_that_stands_still_is_given_up_at_its_deadline_and_nothing_of_it_is_left(
    tmp_path: Path, certificates: Path, good_package: bytes, step: int
) -> None:
    booted = boot(tmp_path, certificates, good_package, fault=f"stop {step}")

    assert booted.exit_code == "0"
    assert booted.fact["cause"].startswith("gave up after 2 s: ")
    assert booted.causes["choose-agent"] in (
        booted.fact["cause"],
        "the fix path was given up before this",
    )
    assert booted.survivors == []
    assert booted.fix_ms < 2500


@pytest.mark.parametrize("apart", [12, pytest.param(4, marks=pytest.mark.slow)])
def test_a_fix_path_killed_at_any_step_never_stops_a_boot(
    tmp_path: Path, certificates: Path, good_package: bytes, apart: int
) -> None:
    for step in range(1, 60, apart):
        booted = boot(tmp_path, certificates, good_package, fault=f"kill {step}")

        assert booted.exit_code == "0"
        if "used" not in booted.fact:
            assert "the fix path died: " in booted.fact["cause"]
        assert booted.survivors == []
    whole = boot(tmp_path, certificates, good_package)
    assert whole.fact["used"] == FIXED, "what a killed attempt left is no hindrance"
