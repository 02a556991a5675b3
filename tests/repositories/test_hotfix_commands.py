"""The commands of keys and hotfix, from the first key to a retired fix, as a person types them."""

import json
import re
import shlex
from pathlib import Path

import pytest

from fairlead import __version__
from fairlead.cli.commands.hotfix.publish import SCHEDULES
from fairlead.cli.main import run_command
from fairlead.hotfix.campaign import Schedule
from hotfix_depot import SUITE, needs, tiny_packages

pytestmark = pytest.mark.slow

OURS = __version__.rpartition(".")[0]


class Typed:
    """Commands that are typed in one directory."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.flags = ["--state", str(directory / "state")]
        self._capsys = capsys

    def __call__(self, line: str, code: int = 0) -> str:
        """Run a line; return what it said, stdout first."""
        self._capsys.readouterr()
        assert run_command([*shlex.split(line)[1:], *self.flags]) == code, line
        said = self._capsys.readouterr()
        return said.out + said.err


@pytest.fixture
def typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Typed:
    needs(*SUITE)
    return Typed(tmp_path, capsys)


def test_every_schedule_can_be_asked_for() -> None:
    assert tuple(schedule.value for schedule in Schedule) == SCHEDULES


def test_a_fix_from_the_first_key_to_its_end(typed: Typed, tmp_path: Path) -> None:
    one, two = (
        " ".join(map(str, tiny_packages(tmp_path, f"202611.16.{patch}"))) for patch in (1, 2)
    )
    assert "3 root keys, of which 2 must agree" in typed("fairlead keys init")
    typed(f"fairlead hotfix bases remove {OURS}")
    assert "no fix was ever published here" in typed("fairlead hotfix list")
    told = typed(f"fairlead hotfix publish {one}", 2)
    assert "no supported image has the base 202611.16; supported: none" in told
    assert "fairlead hotfix bases add 202611.16" in told
    assert typed("fairlead hotfix bases add 202611.16") == "202611.16\n"
    told = typed(f"fairlead hotfix publish {one} --summary 'wait for the disk'")
    assert "offered nowhere yet: fairlead hotfix region on NAME" in told
    assert typed("fairlead hotfix region on local") == "local on\n"
    assert "was published before, with these bytes" in typed(f"fairlead hotfix publish {one}")

    assert "at least 5% of the machines" in typed("fairlead hotfix promote 202611.16.1")
    assert "use --yes" in typed("fairlead hotfix promote 202611.16.1 --everyone", 2)
    typed("fairlead hotfix promote 202611.16.1 --everyone --yes")
    first = "offered in local, to 1% of machines first"
    assert first in typed(f"fairlead hotfix publish {two} --schedule emergency")

    assert "use --yes" in typed("fairlead hotfix withdraw 202611.16.2 --reason no", 2)
    told = typed("fairlead hotfix withdraw 202611.16.2 --reason 'no disk' --yes")
    assert "202611.16.2 is revoked" in told
    told = typed(f"fairlead hotfix publish {two}", 2)
    assert "was published before, and is withdrawn: no disk" in told
    assert "need it" in typed("fairlead hotfix retire 202611.16.1 --yes", 2)
    typed("fairlead hotfix bases remove 202611.16")
    typed("fairlead hotfix retire 202611.16.1 --yes")

    listed = json.loads(typed("fairlead hotfix list --json"))
    assert [(fix["name"], fix["state"], fix["reason"]) for fix in listed["fixes"]] == [
        ("202611.16.2", "withdrawn", "no disk"),
        ("202611.16.1", "retired", ""),
    ]
    assert listed["regions"] == {"local": True}
    rows = typed("fairlead hotfix list").splitlines()
    assert re.split(r"  +", rows[2])[:4] == ["202611.16.1", "fairlead-node", "retired", "everyone"]


def test_a_new_depot_takes_fixes_of_this_agent_and_says_what_is_missing(typed: Typed) -> None:
    told = typed("fairlead keys init")

    assert f"for images of {OURS}, the agent here" in told
    assert "offered nowhere yet: fairlead hotfix region on NAME" in told
    assert typed("fairlead hotfix bases list") == f"{OURS}\n"


def test_without_keys_nothing_is_made_and_with_them_nobody_else_sees_them(
    typed: Typed, tmp_path: Path
) -> None:
    no_depot = "is no depot of hotfixes (run: fairlead keys init)"
    assert no_depot in typed("fairlead hotfix list", 2)
    assert no_depot in typed("fairlead hotfix bases add 202611.16", 2)
    assert not (tmp_path / "state").exists()

    typed("fairlead keys init")

    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_other_bytes_under_a_published_version_are_refused(typed: Typed, tmp_path: Path) -> None:
    typed("fairlead keys init")
    typed("fairlead hotfix bases add 202611.16")
    deb, rpm = tiny_packages(tmp_path, "202611.16.1")
    other_deb, other_rpm = tiny_packages(tmp_path, "202611.16.1", "other")
    typed(f"fairlead hotfix publish {deb} {rpm}")

    for other in (other_deb, other_rpm):
        told = typed(f"fairlead hotfix publish {other}", 2)
        assert "was published with other bytes" in told
    # A signature was added to this one, and it is still the same package.
    assert "with these bytes" in typed(f"fairlead hotfix publish {rpm}")
    told = typed(f"fairlead hotfix publish {deb} {other_deb}", 2)
    assert "a fix has one .deb and one .rpm at most" in told
    told = typed(f"fairlead hotfix publish {deb} --component aksNodeController", 2)
    assert "these are packages of fairlead-node, expected aksNodeController" in told


def test_keys_are_listed_replaced_and_baked(typed: Typed, tmp_path: Path) -> None:
    typed("fairlead keys init --root-keys 2 --threshold 1")
    before = json.loads(typed("fairlead keys show --json"))["roles"]
    assert [(one["role"], len(one["keys"]), one["threshold"]) for one in before] == [
        ("root", 2, 1), ("release", 1, 1), ("online", 1, 1), ("repository", 1, 1),
    ]  # fmt: skip
    anchor = json.loads(typed("fairlead keys show --anchor"))
    assert anchor["signed"]["_type"] == "root"
    assert anchor["signed"]["version"] == 1

    assert "use --yes" in typed("fairlead keys rotate online", 2)
    told = typed("fairlead keys rotate online --yes")
    assert "root 2 names the new key" in told
    assert "say where the new root keys go" in typed("fairlead keys rotate root --yes", 2)
    told = typed("fairlead keys rotate online --new here --yes", 2)
    assert "--new means nothing for online keys" in told
    typed(f"fairlead keys rotate root --new {tmp_path / 'new'} --yes")
    assert len(json.loads(typed("fairlead keys rotate repository --json"))["repository"]) == 2
    assert "root        1 of 2     3" in typed("fairlead keys renew")
    told = typed(f"fairlead keys init --depot {tmp_path / 'd'} --keys {tmp_path / 'd/keys'}", 2)
    assert "is inside the depot, which is served" in told
