"""--kube and its neighbours: which control plane is asked, before any is."""

import importlib.util
import json
from importlib.machinery import ModuleSpec

import pytest

from fairlead.cli.cluster import ELSEWHERE, typed_program
from fairlead.cli.completion_names import flags_in
from fairlead.cli.main import GROUPS, flags_last, make_parser, run_command


@pytest.mark.parametrize("command", ELSEWHERE)
def test_a_command_without_a_meaning_on_a_cluster_says_what_to_use(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.split()[0] in GROUPS

    assert run_command(["--kube", *command.split()]) == 2

    says = capsys.readouterr().err
    assert f"{command} says nothing about a cluster ({ELSEWHERE[command]})" in says


def test_flags_of_a_cluster_may_stand_before_a_command() -> None:
    words = ["--kube", "-n", "team-a", "--context=prod", "pool", "-A", "list"]

    assert flags_last(words) == ["pool", "list", "--kube", "-n", "team-a", "--context=prod", "-A"]


@pytest.mark.parametrize("flags", [["-n", "team-a"], ["--context", "prod"], ["-A"]])
def test_a_part_of_a_cluster_is_named_only_where_one_is_asked(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["pool", "list", *flags]) == 2

    assert "names a part of a cluster (say --kube as well)" in capsys.readouterr().err


def test_two_control_planes_are_not_asked_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["pool", "list", "--kube", "--state", "/nowhere"]) == 2

    assert "expected --kube or --state" in capsys.readouterr().err


def test_a_laptop_without_the_extra_hears_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_lightkube(name: str) -> ModuleSpec | None:
        return None if name == "lightkube" else importlib.util.find_spec(name)

    monkeypatch.setattr("fairlead.cli.cluster.find_spec", without_lightkube)

    assert run_command(["pool", "list", "--kube", "-o", "json"]) == 2

    error = json.loads(capsys.readouterr().err)["error"]
    assert error["problem"] == "lightkube is not installed, which talking to a cluster needs"
    assert error["hint"] == "pip install 'fairlead[kube]'"


def test_a_kubeconfig_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/kubeconfig")

    assert run_command(["pool", "list", "--kube"]) == 2

    assert "/nowhere/kubeconfig" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "begins"),
    [
        ([], "fairlead --kube"),
        (["-n", "team-a"], "fairlead --kube -n team-a"),
        (["--context", "prod eu", "-A"], "fairlead --kube --context 'prod eu' -A"),
        (
            ["--kubeconfig", "k", "--operator-namespace", "ops"],
            "fairlead --kube --kubeconfig k --operator-namespace ops",
        ),
    ],
)
def test_a_suggested_command_names_the_same_part_of_the_same_cluster(
    flags: list[str], begins: str
) -> None:
    words = ["pool", "list", "--kube", *flags]

    assert typed_program(make_parser(words).parse_args(words)) == begins


def test_a_line_that_is_completed_says_which_cluster_its_names_are_of() -> None:
    line = [
        "fairlead",
        "--kube",
        "--context=prod",
        "pool",
        "show",
        "-n",
        "team-a",
        "--kubeconfig",
        "/k",
        "",
    ]

    flags = flags_in(line)

    assert (flags.kube, flags.context, flags.namespace) == (True, "prod", "team-a")
    assert (str(flags.kubeconfig), flags.state, flags.all_namespaces) == ("/k", None, False)


def test_a_cluster_that_does_not_answer_offers_no_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/kubeconfig")

    with pytest.raises(SystemExit) as ended:
        run_command(["completion", "--names", "pools", "fairlead", "--kube", "pool", "show", ""])

    assert (ended.value.code, *capsys.readouterr()) == (0, "", "")
