"""YAML as people write it: what is read, what is refused, and where it stands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.cli.files.yaml_values import parse_yaml, parse_yaml_value, plain_value, render_yaml
from fairlead.userdata.yaml_bounds import YamlProblem


def problems_in(text: str) -> list[tuple[str, tuple[int, int], str]]:
    return [problem for document in parse_yaml(text) for problem in document.problems]


def refusal_of(text: str) -> tuple[tuple[int, int], str]:
    with pytest.raises(YamlProblem) as caught:
        list(parse_yaml(text))
    return caught.value.place, caught.value.says


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("3", 3),
        ("-7", -7),
        ("2.5", 2.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        # What one YAML reads as a number or a date, and another as text, is text.
        ("22:00", "22:00"),
        ("0644", "0644"),
        ("0o17", "0o17"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("2026-11-20", "2026-11-20"),
        ("2026-11-20T22:00:00Z", "2026-11-20T22:00:00Z"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("1.34.2", "1.34.2"),
        ("1234567890123456789012", "1234567890123456789012"),
        ("haproxy@sha256:bb", "haproxy@sha256:bb"),
    ],
)
def test_a_bare_word_is_what_every_yaml_says_it_is(word: str, value: object) -> None:
    assert plain_value(word) == value
    assert type(plain_value(word)) is type(value)


def test_quotes_make_text_of_anything() -> None:
    assert parse_yaml_value("['3', \"true\", '', !!str 5]") == ["3", "true", "", "5"]


@pytest.mark.parametrize("word", ["yes", "No", "on", "OFF", "y"])
def test_a_word_that_is_true_in_one_yaml_and_text_in_another_is_refused(word: str) -> None:
    [(path, place, says)] = problems_in(f"fips: {word}")

    assert (path, place) == ("fips", (1, 7))
    assert f"found {word}" in says
    assert f"'{word}' in quotes" in says


def test_every_field_knows_its_line_and_column() -> None:
    [document] = parse_yaml("spec:\n  config:\n    - kind: Sysctl\n      settings: {a.b: 1}\n")

    assert document.names["spec.config[0].settings.a.b"] == (4, 18)
    assert document.values["spec.config[0].settings.a.b"] == (4, 23)
    assert document.values["spec.config[0]"] == (3, 7)


def test_several_documents_are_read_and_empty_ones_are_not() -> None:
    documents = list(parse_yaml("---\n---\na: 1\n...\n---\n# nothing\n---\nb: 2\n"))

    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}]


def test_a_name_that_is_written_twice_is_refused_and_the_first_stays() -> None:
    [document] = parse_yaml("replicas: 3\nname: x\nreplicas: 5\n")

    assert document.problems == [("replicas", (3, 1), "is written twice, first in line 1")]
    assert document.value == {"replicas": 3, "name": "x"}


def test_merge_keys_and_foreign_tags_are_refused() -> None:
    assert problems_in("<<: {a: 1}\nb: !mine {}\nc: !!binary aGk=\n") == [
        ("<<", (1, 1), "merge keys are not read; write the fields out"),
        ("b", (2, 4), "found the tag !mine, expected none"),
        ("c", (3, 4), "found the tag tag:yaml.org,2002:binary, expected none"),
    ]


def test_an_alias_stands_for_what_it_names() -> None:
    assert parse_yaml_value("[&one {a: 1}, *one]") == [{"a": 1}, {"a": 1}]
    assert refusal_of("a: *one") == ((1, 4), "*one refers to nothing above it")
    assert refusal_of("a: &a [*a]") == ((1, 8), "*a refers to nothing above it")


def test_an_alias_of_a_name_is_refused() -> None:
    assert refusal_of("&a name: 1\nb: *a\n") == ((2, 4), "*a refers to a name, expected a value")


def test_an_alias_is_as_deep_and_as_long_as_what_it_stands_for() -> None:
    chain = "\n".join(["- &a0 [1]", *(f"- &a{at} [*a{at - 1}]" for at in range(1, 70))])
    copies = f"- &long {'x' * 1_000_000}\n" + "- *long\n" * 9

    assert refusal_of(chain) == ((64, 9), "is nested deeper than 64 levels")
    assert refusal_of(copies) == ((5, 3), "is larger than 4 MiB, aliases written out")


def test_aliases_of_aliases_do_not_fill_the_memory() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{at}: &a{at} [{','.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 30)]

    place, says = refusal_of("\n".join(lines))

    assert place == (6, 10)
    assert says == "holds more than 200000 values, aliases written out"


def test_a_text_nested_too_deeply_or_too_large_is_refused() -> None:
    assert refusal_of("[" * 100_000) == ((1, 66), "is nested deeper than 64 levels")
    assert refusal_of("# " + "x" * 5_000_000) == (
        (1, 1),
        "found 4.8 MiB, expected at most 4 MiB in one file",
    )


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("a:\n\tb: 1\n", (2, 1), "is not YAML: a tab stands where only spaces may"),
        ("a: [1\nb: 2", (2, 2), "is not YAML: did not find expected ',' or ']'"),
        ("a: b: c", (1, 5), "is not YAML: mapping values are not allowed in this context"),
        ("? [1]\n: 2", (1, 3), "is a name that is no text"),
        ("a: \x00", (1, 1), "holds a character that YAML does not allow: control characters "),
        ("a: 1\nb: é\x00", (2, 1), "holds a character that YAML does not allow: control "),
        ("a: \ud800", (1, 1), "holds a character that YAML does not allow: surrogates not "),
    ],
)
def test_text_that_is_no_yaml_says_where(text: str, place: tuple[int, int], says: str) -> None:
    found, told = refusal_of(text)

    assert found == place
    assert told.startswith(says)


def test_a_command_line_takes_one_value() -> None:
    assert parse_yaml_value("[a, b]") == ["a", "b"]
    assert parse_yaml_value("") is None
    with pytest.raises(YamlProblem, match="more than one value"):
        parse_yaml_value("--- a\n--- b")
    with pytest.raises(YamlProblem, match="found yes"):
        parse_yaml_value("yes")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=12)
    | st.sampled_from(["1e3", "0644", "1_000", "yes", "~", "<<", "=", "1.34", ".5", "22:00", "-0"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(JSON)
def test_a_document_that_is_shown_reads_back_as_what_it_is(value: object) -> None:
    shown = render_yaml({"spec": value})
    [document] = parse_yaml(shown)

    assert document.problems == []
    assert repr(document.value) == repr({"spec": value})


def test_a_text_that_looks_like_a_number_is_shown_in_quotes() -> None:
    assert render_yaml({"a": "1e3", "b": "on", "c": "x"}) == "a: '1e3'\nb: 'on'\nc: x\n"
