"""One run per document and boot."""

from builders import CONFIG_PATH, NBC_PATH, make_disk
from fairlead.agent.layout import Layout
from fairlead.agent.once import digest_of, find_verdict, keep_verdict
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import Inputs
from fairlead.sim.host import SimHost

BOOT_DOCUMENT_PATH = "/opt/azure/containers/fairlead-boot-document.json"


def make_run(files: dict[str, bytes], *, is_directory: bool = False) -> Run:
    host = SimHost(make_disk(files))
    host.is_directory = is_directory
    return Run(host, Layout("aks", {}), "0011223344556677")


def test_a_document_that_had_its_run_ends_as_that_run_did() -> None:
    run = make_run({CONFIG_PATH: b"{}"})
    digest = digest_of(run, Inputs(CONFIG_PATH, ""))
    assert find_verdict(run, digest) is None

    keep_verdict(run, digest, 50)

    assert find_verdict(run, digest) == 50
    assert find_verdict(run, digest_of(run, Inputs("", ""))) is None


def test_every_input_has_a_part_in_the_digest() -> None:
    run = make_run({CONFIG_PATH: b"one", NBC_PATH: b"two"})

    digests = {
        digest_of(run, Inputs(config, command))
        for config in (CONFIG_PATH, "")
        for command in (NBC_PATH, "")
    }

    assert len(digests) == 4


def test_a_fetched_config_does_not_make_it_another_document() -> None:
    run = make_run({BOOT_DOCUMENT_PATH: b"stub"})
    before = digest_of(run, Inputs("", ""))

    run.host.make_directory("/opt/azure/containers")
    run.host.write_file(CONFIG_PATH, b"{}", 0o600, sync=True)

    assert digest_of(run, Inputs(CONFIG_PATH, "")) == before


def test_a_directory_that_stands_for_a_machine_keeps_no_verdict() -> None:
    run = make_run({CONFIG_PATH: b"{}"}, is_directory=True)

    keep_verdict(run, "digest", 0)

    assert find_verdict(run, "digest") is None


def test_a_torn_verdict_is_no_verdict() -> None:
    run = make_run({"/run/fairlead/verdict.json": b'{"digest": "d", "ex'})

    assert find_verdict(run, "d") is None


def test_what_two_runs_both_saw_decides_whether_it_is_one_document() -> None:
    run = make_run({CONFIG_PATH: b"one", NBC_PATH: b"two"})
    both = digest_of(run, Inputs(CONFIG_PATH, NBC_PATH))
    keep_verdict(run, both, 7)

    assert find_verdict(run, digest_of(run, Inputs(CONFIG_PATH, ""))) == 7
    assert find_verdict(run, digest_of(run, Inputs("", NBC_PATH))) == 7
    run.host.write_file(NBC_PATH, b"three", 0o600, sync=True)
    assert find_verdict(run, digest_of(run, Inputs(CONFIG_PATH, NBC_PATH))) is None
    assert find_verdict(run, digest_of(run, Inputs("", NBC_PATH))) is None


def test_two_runs_that_saw_nothing_saw_no_document() -> None:
    run = make_run({})
    nothing = digest_of(run, Inputs(CONFIG_PATH, ""))

    keep_verdict(run, nothing, 1)

    assert find_verdict(run, nothing) is None
