"""A boothook document is what cloud-init reads, and its script is safe to run on every boot."""

from pathlib import Path
from shutil import which

import pytest

from fairlead.userdata.boothook import render_boothook, render_boothook_document
from fairlead.userdata.delivery import Inline, NodeFile
from fairlead.userdata.render import Target, render_user_data
from hook_run import hook_of, run_hook
from shared_cases import GOLDEN

CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0"}\n'
CONFIG_PATH = "/etc/fairlead/node-config.json"
FEATURES_PATH = "/etc/fairlead/features.env"
LOG_PATH = "/var/log/fairlead/boothook.log"


def document_for(features: dict[str, str], config: bytes = CONFIG) -> bytes:
    return render_user_data(Inline(config), Target("boothook", features=features))


def hook_below(root: Path, content: bytes = CONFIG) -> bytes:
    text = render_boothook([NodeFile(CONFIG_PATH, content)], "fairlead", str(root))
    return text.encode()


@pytest.mark.parametrize("layout", ["aks", "fairlead"])
def test_the_document_is_pinned_byte_for_byte(layout: str) -> None:
    features = {"ENABLE_PROVISIONING_HOTFIX": "true", "A": "1"}

    document = render_user_data(
        Inline(CONFIG), Target("boothook", layout=layout, features=features)
    )

    assert document == (GOLDEN / f"userdata/boothook-{layout}.mime").read_bytes()


def test_header_lines_end_in_crlf_and_every_part_carries_its_three_headers() -> None:
    document = document_for({})

    head, _, rest = document.partition(b"\r\n\r\n")
    assert head == (
        b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="==fairlead-user-data=="'
    )
    headers = [part.partition(b"\r\n\r\n")[0] for part in rest.split(b"--==fairlead-user-data==")]
    assert headers[1:3] == [
        b'\r\nContent-Type: text/cloud-boothook; charset="us-ascii"\r\nMIME-Version: 1.0\r\n'
        b"Content-Transfer-Encoding: 7bit\r\n"
        b'Content-Disposition: attachment; filename="boothook.sh"',
        b'\r\nContent-Type: text/cloud-config; charset="us-ascii"\r\nMIME-Version: 1.0\r\n'
        b"Content-Transfer-Encoding: 7bit\r\n"
        b'Content-Disposition: attachment; filename="cloud-config.yaml"',
    ]
    assert document.endswith(b"\r\n--==fairlead-user-data==--\r\n")


def test_seven_bits_and_short_lines_whatever_the_config_holds() -> None:
    document = document_for({}, '{"version": "v1", "x": "é\u2028"}'.encode() * 50_000)

    assert document.isascii()
    assert max(map(len, document.split(b"\n"))) <= 998


def test_features_are_sorted_and_bad_ones_dropped(tmp_path: Path) -> None:
    features = {
        "B": "2",
        "A_1": "$(reboot)",
        "9X": "1",
        "C": "a\nb",
        "D": "a\rb",
        "E-F": "1",
        "": "1",
    }

    assert document_for(features) == document_for({"A_1": "$(reboot)", "B": "2"})
    assert b"QV8xPSQocmVib290KQpCPTIK" in document_for(features)  # A_1=$(reboot)\nB=2\n


def test_without_a_valid_feature_the_document_is_as_without_features() -> None:
    assert document_for({"9X": "1", "C": "a\nb"}) == document_for({})
    assert b"features.env" not in document_for({})


def test_the_hook_writes_privately_and_asks_for_the_agent_without_waiting(tmp_path: Path) -> None:
    run = run_hook(hook_below(tmp_path), tmp_path)

    assert run.exit_code == 0
    assert run.read(CONFIG_PATH) == CONFIG
    assert run.mode(CONFIG_PATH) == 0o600
    assert run.systemctl == ["start", "--no-block", "fairlead-node.service"]
    assert run.files() == ["etc/fairlead/node-config.json", "var/log/fairlead/boothook.log"]
    assert b"wrote" in run.read(LOG_PATH)


def test_other_users_can_still_enter_the_directories(tmp_path: Path) -> None:
    run = run_hook(hook_below(tmp_path), tmp_path)

    assert run.mode("/etc/fairlead") == 0o755
    assert run.mode("/var/log/fairlead") == 0o755
    assert run.mode(LOG_PATH) == 0o600


def test_a_second_boot_writes_nothing(tmp_path: Path) -> None:
    run_hook(hook_below(tmp_path), tmp_path)
    before = (tmp_path / CONFIG_PATH.lstrip("/")).stat()

    run = run_hook(hook_below(tmp_path), tmp_path)

    after = (tmp_path / CONFIG_PATH.lstrip("/")).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert run.systemctl == ["start", "--no-block", "fairlead-node.service"]


def test_another_config_and_a_wrong_mode_are_put_right(tmp_path: Path) -> None:
    run_hook(hook_below(tmp_path, b"old"), tmp_path)
    assert run_hook(hook_below(tmp_path), tmp_path).read(CONFIG_PATH) == CONFIG
    (tmp_path / CONFIG_PATH.lstrip("/")).chmod(0o644)

    assert run_hook(hook_below(tmp_path), tmp_path).mode(CONFIG_PATH) == 0o600


def test_bytes_that_do_not_arrive_whole_are_not_used(tmp_path: Path) -> None:
    hook = hook_below(tmp_path).replace(b"eyJ2ZXJz", b"eyJ2ZXJT")

    run = run_hook(hook, tmp_path)

    assert run.exit_code == 1
    assert run.files() == ["var/log/fairlead/boothook.log"]
    assert b"did not arrive whole" in run.read(LOG_PATH)


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var/log").write_text("not a directory")

    run = run_hook(hook_below(tmp_path), tmp_path)

    assert run.exit_code == 0
    assert run.read(CONFIG_PATH) == CONFIG


def test_a_start_that_systemd_refuses_is_told(tmp_path: Path) -> None:
    run = run_hook(hook_below(tmp_path), tmp_path, systemctl_code=1)

    assert run.exit_code == 1
    assert run.read(CONFIG_PATH) == CONFIG
    assert b"systemd did not take the start" in run.read(LOG_PATH)


def test_all_of_the_hook_runs_under_a_timeout(tmp_path: Path) -> None:
    programs = tmp_path / ".test/bin"
    programs.mkdir(parents=True)
    (programs / "timeout").write_text('#!/bin/sh\necho "$*" >"$CALLS/timeout"\n')
    (programs / "timeout").chmod(0o755)

    run = run_hook(hook_below(tmp_path), tmp_path)

    script = tmp_path / ".test/part-001"
    assert (tmp_path / ".test/timeout").read_text() == f"-k 5 60 /bin/sh {script} bounded\n"
    assert run.files() == []


@pytest.mark.parametrize("shell", ["bash", "dash", "busybox"])
def test_every_shell_that_may_be_bin_sh_runs_it(shell: str, tmp_path: Path) -> None:
    program = which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    # The first line hands over to /bin/sh; without it the shell under test runs the rest.
    hook = hook_below(tmp_path, CONFIG * 100_000).replace(b'[ "${1-}" = bounded ] ||', b"true ||")
    if shell == "busybox":
        wrapper = tmp_path / "ash"
        wrapper.write_text(f'#!/bin/sh\nexec {program} sh "$@"\n')
        wrapper.chmod(0o755)
        program = str(wrapper)

    run = run_hook(hook, tmp_path, shell=program)

    assert run.exit_code == 0
    assert run.read(CONFIG_PATH) == CONFIG * 100_000


def test_the_hook_of_a_whole_document_survives_the_way_through_mime() -> None:
    files = [NodeFile(CONFIG_PATH, CONFIG)]

    hook = hook_of(render_boothook_document(files, "fairlead"))

    assert b"#cloud-boothook\n" + hook == render_boothook(files, "fairlead").encode()
