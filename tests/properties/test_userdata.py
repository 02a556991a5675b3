"""Whatever a config holds arrives on the disk byte for byte, and nothing of it is run."""

import random
import tempfile
from email import message_from_bytes
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.agent.early.carried_files import files_in_user_data
from fairlead.contract.node_paths import LAYOUTS
from fairlead.errors import InputError
from fairlead.userdata.boothook import render_boothook_document
from fairlead.userdata.delivery import Inline, NodeFile, files_of
from fairlead.userdata.inspect import inspect_user_data
from fairlead.userdata.render import FORMATS, Target, render_user_data
from fairlead.userdata.unwrap import Room, unwrap
from hook_run import hook_of, run_hook
from properties.hostile import hurt, originals
from shared_cases import GOLDEN

CONFIG_PATH = "/etc/fairlead/node-config.json"
FEATURES_PATH = "/etc/fairlead/features.env"

# Each would leave the file CANARY behind if a shell ever saw it as code.
HOSTILE = (
    b"$(touch CANARY)", b"`touch CANARY`", b"'; touch CANARY; '", b'"; touch CANARY; "',
    b"\n_FAIRLEAD_END_\ntouch CANARY\n", b"\nEOF\ntouch CANARY\n", b"\r\ntouch CANARY\r\n",
    b"\n--==fairlead-user-data==--\r\n", b"\r\n--==fairlead-user-data==\r\n\r\n#!/bin/sh\n",
    b"\\", b"\\\n", b"%s%n", b"\xff\xfe", "é\u2028\U0001f600".encode(), b"\x01\x7f\x1b[2J",
    b"#cloud-config\n", b"## template: jinja\n{{ 7*7 }}", b"A" * 1200, b"\n\n\n", b"=" * 80,
    b"|&;<>()*?[]#~", b"\x1f\x8b\x08", b"",
)  # fmt: skip

configs = st.lists(st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=60)), max_size=12).map(
    lambda pieces: b"".join(pieces).replace(b"\0", b"0")
)


def assert_arrives(config: bytes, root: Path) -> None:
    """Render, let Python's MIME parser take it apart as cloud-init does, and run the hook."""
    features = {"A": "$(touch CANARY)", "B": "'; touch CANARY"}
    files = files_of(Inline(config), "fairlead", features)
    document = render_boothook_document(files, "fairlead", root=str(root))

    run = run_hook(hook_of(document), root)

    assert run.exit_code == 0
    assert run.read(CONFIG_PATH) == config
    # Beside these two stands what the config enables, if hurting it left that whole.
    assert run.read(FEATURES_PATH) == files[0].content
    assert {b"A=$(touch CANARY)", b"B='; touch CANARY"} <= set(files[0].content.split(b"\n"))
    assert (run.mode(CONFIG_PATH), run.mode(FEATURES_PATH)) == (0o600, 0o600)
    assert run.systemctl == ["start", "--no-block", "fairlead-node.service"]
    assert run.files() == [
        "etc/fairlead/features.env",
        "etc/fairlead/node-config.json",
        "var/log/fairlead/boothook.log",
    ]


@given(config=configs)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_config_arrives_byte_for_byte_and_nothing_of_it_runs(config: bytes) -> None:
    with tempfile.TemporaryDirectory() as root:
        assert_arrives(config, Path(root))


@pytest.mark.slow
def test_a_thousand_hostile_configs_arrive_byte_for_byte(tmp_path: Path) -> None:
    source = random.Random(20261116)
    documents = originals("configs")
    for number in range(1000):
        config = hurt(source.choice(documents), source).replace(b"\0", b"")
        at = source.randint(0, len(config))
        config = config[:at] + b"".join(source.choices(HOSTILE, k=3)) + config[at:]
        if number % 50 == 0:
            config += source.randbytes(1 << 20).replace(b"\0", b"1")
        config = config.replace(b"\\u0000", b"")
        root = tmp_path / str(number)
        root.mkdir()

        assert_arrives(config, root)


@given(config=configs, format_name=st.sampled_from(FORMATS))
def test_every_format_carries_the_same_bytes(config: bytes, format_name: str) -> None:
    document = render_user_data(Inline(config), Target(format_name))

    found = inspect_user_data(document).files

    assert found == [NodeFile(CONFIG_PATH, config)]


@given(config=configs, format_name=st.sampled_from(FORMATS), layout=st.sampled_from(LAYOUTS))
def test_the_agent_finds_the_same_files_without_running_the_document(
    config: bytes, format_name: str, layout: str
) -> None:
    target = Target(format_name, layout=layout, features={"A": "1"})
    document = render_user_data(Inline(config), target)

    found = [(file.place, file.content) for file in files_in_user_data(document)]

    expected = files_of(Inline(config), layout, {"A": "1"})
    assert found == [(file.path, file.content) for file in expected]


@given(before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_a_nul_is_refused_wherever_it_is(before: bytes, after: bytes) -> None:
    with pytest.raises(InputError, match="NUL"):
        render_user_data(Inline(before + b"\0" + after), Target("boothook"))


@given(config=configs)
def test_the_document_is_seven_bit_with_two_parts(config: bytes) -> None:
    document = render_user_data(Inline(config), Target("boothook"))

    assert document.isascii()
    assert max(map(len, document.split(b"\n"))) <= 998
    kinds = [part.get_content_type() for part in message_from_bytes(document).walk()]
    assert kinds == ["multipart/mixed", "text/cloud-boothook", "text/cloud-config"]


@given(
    features=st.dictionaries(
        st.text(max_size=5), st.text(st.characters(exclude_categories=()), max_size=8), max_size=6
    )
)
def test_any_features_give_lines_that_can_be_read_back(features: dict[str, str]) -> None:
    from fairlead.contract.feature_file import parse_features
    from fairlead.userdata.delivery import is_feature, render_features

    valid = {name: value for name, value in features.items() if is_feature(name, value)}

    assert parse_features(render_features(features)) == valid


@given(data=st.binary(max_size=300))
def test_any_bytes_can_be_inspected(data: bytes) -> None:
    inspect_user_data(data)


DOCUMENTS = [path.read_bytes() for path in sorted((GOLDEN / "userdata").iterdir())]


@given(document=st.sampled_from(DOCUMENTS), seed=st.integers(0, 2**32))
@settings(max_examples=examples(300), deadline=None)
def test_a_hurt_document_can_be_inspected(document: bytes, seed: int) -> None:
    inspect_user_data(hurt(document, random.Random(seed)))


@pytest.mark.slow
def test_twenty_thousand_hurt_documents_can_be_inspected() -> None:
    source = random.Random(7)
    for _ in range(20_000):
        document = source.choice(DOCUMENTS)
        wrapped = render_user_data(Inline(b'{"version": "v1"}' * 200), Target("boothook", "azure"))
        inspect_user_data(hurt(source.choice([document, wrapped]), source))


@given(data=st.binary(max_size=200))
def test_unwrapping_ends_and_never_raises(data: bytes) -> None:
    assert len(unwrap(data, Room()).layers) <= 4
