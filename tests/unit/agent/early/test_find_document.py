"""What the early reader leaves on the disk, and when it leaves the disk alone."""

import stat

from builders import AKS, CONFIG_PATH, FEATURES_PATH, RECORD_PATH, make_disk
from fairlead.agent.early.find_document import find_boot_inputs, find_document
from fairlead.agent.layout import Layout, find_layout_name
from fairlead.agent.once import keep_verdict
from fairlead.agent.report.conclude import conclude
from fairlead.agent.report.record import parse_record
from fairlead.agent.run import Run
from fairlead.sim.host import SimHost
from fairlead.userdata.delivery import Inline
from fairlead.userdata.render import Target, render_user_data

SEED = "/var/lib/cloud/seed/nocloud/user-data"
COPY = "/var/lib/cloud/instance/user-data.txt"
RAN = "/run/cloud-init/.instance-id"
SETTINGS = "/etc/fairlead-node/seeds.conf"
BOOT_DOCUMENT_PATH = f"{AKS}/fairlead-boot-document.json"
CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0"}'
OTHER = b'{"version": "v1", "kubernetes_version": "1.35.0"}'


def user_data(config: bytes = CONFIG, layout: str = "aks") -> bytes:
    target = Target("boothook", layout=layout, features={"ENABLE_PROVISIONING_HOTFIX": "true"})
    return render_user_data(Inline(config), target)


def make_run(files: dict[str, bytes]) -> Run:
    host = SimHost(make_disk({f"{AKS}/provision_start.sh": b"", **files}))
    # SimHost stands for a directory; here it is a machine, which has a /run.
    host.is_directory = False
    return Run(host, Layout(find_layout_name(host), {}), "0011223344556677")


def test_a_seed_becomes_config_and_features_that_only_root_reads() -> None:
    run = make_run({SEED: user_data()})

    found = find_document(run, has_inputs=False)

    assert found is not None
    assert (found.place, found.wrote) == ("NoCloud seed", ["features", "node_config"])
    assert run.host.read_file(CONFIG_PATH) == CONFIG
    assert run.host.read_file(FEATURES_PATH) == b"ENABLE_PROVISIONING_HOTFIX=true\n"
    for path in (CONFIG_PATH, FEATURES_PATH):
        assert stat.S_IMODE(run.host.file_mode(path) or 0) == 0o600


def test_a_second_look_writes_nothing() -> None:
    run = make_run({SEED: user_data()})
    find_document(run, has_inputs=False)

    again = find_document(run, has_inputs=True)

    assert again is not None
    assert again.wrote == []


def test_a_node_that_has_a_document_keeps_it_and_says_so() -> None:
    run = make_run({SEED: user_data(), CONFIG_PATH: OTHER})

    assert find_document(run, has_inputs=True) is None

    assert run.host.read_file(CONFIG_PATH) == OTHER
    assert run.host.file_mode(FEATURES_PATH) is None
    assert run.refusals == [
        "NoCloud seed holds another document than this node has, which stays; to take it, remove "
        f"{CONFIG_PATH} and boot again, or build the image with REPROVISION=yes"
    ]
    assert isinstance(run.host, SimHost)
    assert b'"msg":"document refused"' in run.host.said


def test_features_that_differ_make_it_another_document() -> None:
    run = make_run({SEED: user_data(), CONFIG_PATH: CONFIG, FEATURES_PATH: b"A=b\n"})

    assert find_document(run, has_inputs=True) is None

    assert run.host.read_file(FEATURES_PATH) == b"A=b\n"
    assert len(run.refusals) == 1


def test_an_image_may_let_its_nodes_be_provisioned_again() -> None:
    earlier = {CONFIG_PATH: OTHER, BOOT_DOCUMENT_PATH: b"{}", FEATURES_PATH: b"A=b\n"}
    run = make_run({SEED: user_data(), SETTINGS: b"REPROVISION=yes\n", **earlier})

    found = find_document(run, has_inputs=True)

    assert found is not None
    assert (found.place, found.wrote) == ("NoCloud seed", ["features", "node_config"])
    assert run.host.read_file(CONFIG_PATH) == CONFIG
    # What came with the earlier document would otherwise decide what this node fetches.
    assert run.host.file_mode(BOOT_DOCUMENT_PATH) is None
    assert run.refusals == []


def test_a_node_is_provisioned_again_at_a_boot_and_not_while_it_runs() -> None:
    run = make_run({SEED: user_data(), SETTINGS: b"REPROVISION=yes\n"})
    find_boot_inputs(run)
    run.host.write_file(SEED, user_data(OTHER), 0o600, sync=True)

    find_boot_inputs(run, looks_again=True)

    assert run.host.read_file(CONFIG_PATH) == CONFIG
    assert len(run.refusals) == 1


def test_every_other_document_is_told_and_each_of_them_once() -> None:
    net = "/var/lib/cloud/seed/nocloud-net/user-data"
    run = make_run({SEED: user_data(CONFIG), net: user_data(OTHER)})
    find_boot_inputs(run)
    assert run.refusals == []

    for _ in range(3):
        find_boot_inputs(run, looks_again=True)

    assert isinstance(run.host, SimHost)
    assert run.host.said.count(b"document refused") == 1
    kept = run.host.read_file("/run/fairlead/refused.json")
    assert b"NoCloud seed holds another document" in kept


def test_what_is_refused_after_a_boot_is_told_in_the_record_of_its_run() -> None:
    run = make_run({SEED: user_data(), CONFIG_PATH: OTHER})
    run.record.begin("run-1", "202611.16.0", "aks")
    run.record.end(0)
    keep_verdict(run, "digest", 0)

    find_boot_inputs(run, looks_again=True)

    (report,) = parse_record(run.host.read_file(RECORD_PATH))
    assert (report.exit_code, report.facts["refused"]) == (0, run.refusals)


def test_a_machine_that_may_not_look_says_what_it_passed_over() -> None:
    cloud = b"datasource_list: [Azure]\n"
    run = make_run({SEED: user_data(), "/etc/cloud/cloud.cfg": cloud})

    assert find_boot_inputs(run) is None
    assert conclude(run, "202611.16.0") == 1

    (report,) = parse_record(run.host.read_file(RECORD_PATH))
    assert report.stages[0].cause == (
        "no node config, NBC command or boot document came to this machine; NoCloud seed "
        f"{SEED} is not looked at: the image does not list NoCloud, neither in cloud-init's "
        "datasource_list nor in DATA_SOURCES of /etc/fairlead-node/seeds.conf"
    )
    assert report.facts["refused"] == run.refusals


def test_user_data_for_another_layout_is_left_to_its_boothook() -> None:
    run = make_run({SEED: user_data(layout="fairlead")})

    assert find_document(run, has_inputs=False) is None
    assert run.host.file_mode(CONFIG_PATH) is None


def test_a_seed_without_a_document_of_ours_is_passed_over() -> None:
    net = "/var/lib/cloud/seed/nocloud-net/user-data"
    run = make_run({SEED: b"#cloud-config\nruncmd: [ls]\n", net: user_data()})

    found = find_document(run, has_inputs=False)

    assert found is not None
    assert run.host.read_file(CONFIG_PATH) == CONFIG


def test_files_that_are_not_the_agents_own_are_never_written() -> None:
    text = b"#cloud-config\nwrite_files:\n- path: /etc/passwd\n  encoding: b64\n  content: QQ==\n"
    run = make_run({SEED: text})

    assert find_document(run, has_inputs=False) is None
    assert run.host.file_mode("/etc/passwd") is None


def test_nothing_in_user_data_is_executed() -> None:
    run = make_run({SEED: user_data()})

    find_boot_inputs(run)

    assert isinstance(run.host, SimHost)
    assert run.host.started == []


def test_cloud_inits_copy_is_for_a_machine_that_has_nothing_else() -> None:
    without = make_run({COPY: user_data(), RAN: b"i-1"})
    with_config = make_run({COPY: user_data(), RAN: b"i-1", CONFIG_PATH: OTHER})

    assert find_boot_inputs(without) is not None
    find_boot_inputs(with_config)

    assert without.host.read_file(CONFIG_PATH) == CONFIG
    assert with_config.host.read_file(CONFIG_PATH) == OTHER


def test_a_config_that_is_still_being_written_is_waited_for() -> None:
    run = make_run({CONFIG_PATH: CONFIG[:10]})
    assert isinstance(run.host, SimHost)
    start_ns = run.host.monotonic_ns()

    find_boot_inputs(run)

    # It never grows, so after half a second it counts as whole, and as broken.
    assert 0.5 <= (run.host.monotonic_ns() - start_ns) / 1e9 < 0.7


def test_what_was_found_in_this_boot_is_not_looked_for_again() -> None:
    run = make_run({SEED: user_data()})
    find_boot_inputs(run)
    run.host.remove(SEED)

    inputs = find_boot_inputs(run)

    assert inputs is not None
    assert inputs.node_config == CONFIG_PATH
