"""Promises of the node contract over all documents."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.contract.json_text import encode_json
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_secrets import secrets_of
from fairlead.contract.node_validate import validate
from node_write import write_node_config
from properties.node_documents import node_documents
from properties.node_oracle import comparable, fields_by_google

HIDDEN = "hunter2-hunter2"
# Drawn from a short list: building the table of all characters takes seconds.
CHARACTERS = st.sampled_from('ab_9. \n\0"\\\u00e9\u2028\U0001f6a2\ud800\udfff')
NAMES = st.one_of(
    st.sampled_from(["version", "cluster_config", "is_vhd", "customCaCerts", "enabled_features"]),
    st.sampled_from(["mustUnderstand", "hotfixes", "cse_timeout", "local_dns_profile", "vmSize"]),
    st.text(CHARACTERS, max_size=90),
    st.integers(1, 400).map(lambda length: "\u00e9" * length),
)
HOSTILE_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.just(HIDDEN),
        st.text(CHARACTERS, max_size=40),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(NAMES, inner, max_size=6)),
    max_leaves=30,
)


@given(node_documents())
@settings(max_examples=examples(300), deadline=None)
def test_a_document_means_what_googles_reader_understands(document: dict[str, Any]) -> None:
    text = json.dumps(document)

    parsed = parse_node_config(text.encode())

    assert comparable(parsed.config.fields) == fields_by_google(text)
    assert parsed.problems == []


@given(node_documents())
@settings(max_examples=examples(300), deadline=None)
def test_what_is_written_reads_as_the_same_config(document: dict[str, Any]) -> None:
    config = parse_node_config(json.dumps(document).encode()).config

    text = write_node_config(config)

    again = parse_node_config(text.encode())
    assert comparable(again.config.fields) == comparable(config.fields)
    assert again.receipt.ignored == 0
    assert fields_by_google(text) == comparable(config.fields)


@given(node_documents())
@settings(max_examples=examples(200), deadline=None)
def test_the_paths_of_a_receipt_are_as_many_as_it_counts(document: dict[str, Any]) -> None:
    receipt = parse_node_config(json.dumps(document).encode()).receipt

    assert len(list(receipt.understood_paths())) == receipt.understood
    assert len(list(receipt.defaulted_paths())) == receipt.defaulted


@given(HOSTILE_VALUES, st.integers(0, 400), st.binary(max_size=4))
@settings(max_examples=examples(500), deadline=None)
def test_no_document_raises_and_every_receipt_fits(value: Any, at: int, noise: bytes) -> None:
    text = json.dumps(value).encode()
    torn = text[:at] + noise + text[at + 1 :]

    for document in (text, torn, noise):
        parsed = parse_node_config(document)
        assert len(encode_json(parsed.receipt.encode()).encode()) <= 512
        assert all(str(problem).isascii() for problem in parsed.problems + parsed.violations)
        write_node_config(parsed.config).encode()
        secrets_of(parsed.config)
        validate(parsed.config, "aks")


@given(st.dictionaries(NAMES, HOSTILE_VALUES, max_size=8))
@settings(max_examples=examples(300), deadline=None)
def test_problems_and_receipts_never_tell_a_value(document: dict[str, Any]) -> None:
    names_only = {name: value for name, value in document.items() if HIDDEN not in name}

    parsed = parse_node_config(json.dumps(names_only).encode())

    told = [str(problem) for problem in parsed.problems + parsed.violations]
    told.append(encode_json(parsed.receipt.encode()))
    if "mustUnderstand" not in names_only:
        assert HIDDEN not in "".join(told)
