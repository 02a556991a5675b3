"""What a cloud-config means does not depend on how it is written, and is what PyYAML reads."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.userdata.cloud_config_text import read_cloud_config
from fairlead.userdata.inspect import Inspection, inspect_user_data
from fairlead.userdata.yaml_bounds import YamlExcess, YamlProblem

CONFIG_PATH = "/etc/fairlead/node-config.json"
CONFIG = '{"version": "v1", "kubernetes_version": "1.34.0"}'

texts = st.text(max_size=12) | st.sampled_from(
    ("yes", "0644", "22:00", "=", "<<", "*a", "&a", "{", "[", "- x", "a: b", "#", "'", '"', "\t",
     "~", "2026-11-16", "!!int", "|", "\n x\n", " ", "%", "@", CONFIG)
)  # fmt: skip
scalars = (
    texts | st.binary(max_size=12) | st.integers() | st.booleans() | st.none() | st.floats()
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
entries = st.fixed_dictionaries(
    {"path": st.sampled_from((CONFIG_PATH, "/etc/a.service")) | texts},
    optional={
        "content": texts | st.binary(max_size=12),
        "permissions": st.sampled_from(("0600", "0644", 0o600, 600, None)) | scalars,
        "defer": st.booleans() | scalars,
        "encoding": st.sampled_from(("b64", "gz+b64", "text/plain")) | scalars,
    },
)
documents = st.fixed_dictionaries(
    {"write_files": st.lists(entries | values, max_size=3)},
    optional={"runcmd": values, "hostname": values, "nonsense": values},
)


def inspected(document: dict[str, Any], style: bool | None) -> Inspection:
    text = yaml.safe_dump(document, default_flow_style=style)
    return inspect_user_data(b"#cloud-config\n" + text.encode())


def meaning_of(inspection: Inspection) -> tuple[object, ...]:
    return (
        inspection.files,
        inspection.receipt,
        inspection.config_problems,
        inspection.problems,
        inspection.endpoint,
    )


@given(document=documents)
@settings(deadline=None, max_examples=examples(200))
def test_flow_style_and_block_style_are_inspected_alike(document: dict[str, Any]) -> None:
    flow, block, mixed = (inspected(document, style) for style in (True, False, None))

    assert meaning_of(flow) == meaning_of(block) == meaning_of(mixed)
    listed = [entry for entry in document["write_files"] if isinstance(entry, dict)]
    assert len(flow.files) == len(listed)


@given(content=st.text(max_size=40))
@settings(deadline=None)
def test_a_file_is_found_byte_for_byte_in_every_style(content: str) -> None:
    document = {"write_files": [{"path": CONFIG_PATH, "content": content}]}

    for style in (True, False, None):
        [file] = inspected(document, style).files
        assert (file.path, file.content) == (CONFIG_PATH, content.encode())


pieces = st.sampled_from(
    ("a", "b", "1", "0600", "yes", "~", ": ", ":", "- ", "\n", "\n  ", "{", "}", "[", "]", ", ",
     "&x ", "*x", "<<: ", "|\n ", ">\n ", "'", '"', "#", "!!int ", "!!set ", "!!binary ", "!y ",
     "? ", "\t", "\r\n", "---\n", "...\n", "%YAML 1.1\n", "é", "\0", "\ufeff", "\\", "1:30", ".5",
     "2026-11-16", "=", "0x1f", "\\ud83d")
)  # fmt: skip


@given(text=st.lists(pieces, max_size=25).map("".join))
@settings(deadline=None, max_examples=examples(1000))
def test_a_text_is_read_as_the_safe_loader_of_pyyaml_reads_it(text: str) -> None:
    try:
        expected = yaml.safe_load(text)
    except Exception:  # noqa: BLE001 - the loader stumbles in many ways
        with pytest.raises(YamlProblem):
            read_cloud_config(text)
        return
    try:
        found = read_cloud_config(text)
    except YamlExcess as excess:
        # The loader makes a list that holds itself.
        assert "refers to nothing above it" in excess.says  # noqa: PT017
        return
    assert repr(found) == repr(expected)
