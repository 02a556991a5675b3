"""The outcome table of check-hotfix: what an answer means, and what it does to the pointer file."""

import json

import pytest

from builders import POINTER_PATH, aks_files, make_boot, make_disk, make_sim_host
from fairlead import __version__
from fairlead.agent.hotfix.asking import outcomes
from fairlead.agent.hotfix.asking.answered import Rejected, Served, Unreachable
from fairlead.agent.stages.check_hotfix import refresh_pointer
from fairlead.agent.stages.stage import Boot
from fairlead.sim.host import SimHost

BASE = __version__.rpartition(".")[0]
EXISTING: dict[str, object] = {
    "version": "202001.01.1",
    "scripts_version": "202001.01.2",
    "extra": [1],
}
FALLBACK: dict[str, object] = {"version": "v1", "hotfixes": {"202604.01": "202604.01.3"}}


def boot_with(config: dict[str, object] | None = None, *, has_pointer: bool = True) -> Boot:
    files = aks_files(config or {"version": "v1"})
    if has_pointer:
        files[POINTER_PATH] = json.dumps(EXISTING).encode()
    return make_boot(make_sim_host(make_disk(files)))


def pointer_of(boot: Boot) -> dict[str, object] | None:
    mode = boot.run.host.file_mode(POINTER_PATH)
    if mode is None:
        return None
    found: dict[str, object] = json.loads(boot.run.host.read_file(POINTER_PATH))
    return found


def take_answer(boot: Boot, answer: Served | Rejected | Unreachable) -> outcomes.Checked:
    return outcomes.take_answer(boot, answer, boot.run.host.monotonic_ns() + 5 * 10**9)


def served(**hotfixes: str | None) -> Served:
    return Served(json.dumps({"hotfixes": hotfixes}).encode())


def test_an_entry_for_this_base_is_written_and_the_rest_of_the_pointer_is_kept() -> None:
    boot = boot_with()

    checked = take_answer(boot, served(**{BASE: f"{BASE}.9"}))

    assert checked.outcome == "lpsRead"
    assert pointer_of(boot) == {**EXISTING, "hotfixes": {BASE: f"{BASE}.9"}}


def test_entries_for_other_bases_are_written_too_and_reported_as_none_for_this_one() -> None:
    boot = boot_with(has_pointer=False)

    checked = take_answer(boot, served(**{"202001.01": "202001.01.9"}))

    assert checked.outcome == "noHotfixForBase"
    assert pointer_of(boot) == {"hotfixes": {"202001.01": "202001.01.9"}}
    assert (boot.run.host.file_mode(POINTER_PATH) or 0) & 0o777 == 0o644


def test_a_rewrite_keeps_the_mode_of_the_pointer_file() -> None:
    boot = boot_with()
    assert (boot.run.host.file_mode(POINTER_PATH) or 0) & 0o777 == 0o600

    take_answer(boot, served(**{BASE: f"{BASE}.9"}))

    assert (boot.run.host.file_mode(POINTER_PATH) or 0) & 0o777 == 0o600


def test_a_tombstone_takes_back_what_custom_data_delivered() -> None:
    boot = boot_with()

    checked = take_answer(boot, served(**{BASE: None}))

    assert checked.outcome == "lpsRead"
    assert pointer_of(boot) == {**EXISTING, "hotfixes": {BASE: None}}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Rejected("Unauthenticated"), "attestationRejected"),
        (Rejected("PermissionDenied"), "attestationRejected"),
        (Rejected("NotFound"), "noHotfixAvailable"),
        (Served(b""), "noHotfixAvailable"),
        (Served(b" \n"), "noHotfixAvailable"),
        (Served(b"{}"), "noHotfixAvailable"),
        (Served(b'{"hotfixes": {}}'), "noHotfixAvailable"),
        (Rejected("InvalidArgument"), "failed"),
        (Rejected("ResourceExhausted"), "failed"),
        (Served(b"not json"), "failed"),
        (Served(b"[]"), "failed"),
        (Served(b'{"hotfixes": 3}'), "failed"),
        (Unreachable("deadline"), "failed"),
        (Rejected("Unavailable"), "failed"),
    ],
)
def test_every_other_answer_leaves_the_pointer_as_it_was(
    answer: Served | Rejected | Unreachable, outcome: str
) -> None:
    boot = boot_with()

    assert take_answer(boot, answer).outcome == outcome
    assert pointer_of(boot) == EXISTING


@pytest.mark.parametrize("status", ["Unavailable", "DeadlineExceeded", "Internal", "Unknown"])
def test_a_service_that_cannot_answer_is_replaced_by_what_the_config_carries(status: str) -> None:
    boot = boot_with(FALLBACK)

    checked = take_answer(boot, Rejected(status))

    assert (checked.outcome, checked.reason) == ("customDataFallback", status)
    assert pointer_of(boot) == {**EXISTING, "hotfixes": {"202604.01": "202604.01.3"}}


@pytest.mark.parametrize("status", ["InvalidArgument", "Unauthenticated", "NotFound"])
def test_a_service_that_did_answer_is_not_overruled_by_the_config(status: str) -> None:
    boot = boot_with(FALLBACK)

    take_answer(boot, Rejected(status))

    assert pointer_of(boot) == EXISTING


class NoPointerHost(SimHost):
    """A host whose disk refuses the pointer file."""

    def rename(self, source: str, target: str) -> None:
        if target == POINTER_PATH:
            raise OSError(30, "Read-only file system", target)
        super().rename(source, target)


def test_a_pointer_that_cannot_be_written_is_a_failed_check_and_no_failed_boot() -> None:
    boot = make_boot(NoPointerHost(make_disk(aks_files(FALLBACK))))

    checked = refresh_pointer(boot)

    assert (checked.outcome, pointer_of(boot)) == ("failed", None)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"version": "v1"}, "no API server name in the node config or NBC command"),
        (
            {"version": "v1", "api_server_config": {"api_server_name": "api.example.test"}},
            "no cluster CA: an answer could not be verified",
        ),
    ],
)
def test_nobody_is_asked_whose_answer_could_not_be_verified(
    config: dict[str, object], reason: str
) -> None:
    boot = boot_with(config)

    checked = refresh_pointer(boot)

    assert (checked.outcome, checked.reason) == ("failed", reason)
