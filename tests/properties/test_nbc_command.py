"""Promises about bootstrap commands over all texts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.contract.feature_file import parse_features
from fairlead.contract.nbc_command import NAME_CHARACTERS, environment_of_nbc_command

COMMANDS = st.one_of(
    st.text(st.sampled_from("AB_19a=\"'; \n\t\\$x\udcff"), max_size=40),
    st.text(st.sampled_from("AZaz09_=\r\0\u00c9\u0661\U0001f6a2\ud800"), max_size=40),
)
NAMES = st.text(st.sampled_from("ABCXYZ_"), min_size=1, max_size=6)
QUOTED = st.text(st.sampled_from("AB_1=a'; \n\\$\u00e9\udcff"), max_size=20)


@given(COMMANDS)
@settings(max_examples=examples(500))
def test_names_are_upper_case_and_values_come_from_the_text(text: str) -> None:
    for name, value in environment_of_nbc_command(text).items():
        assert set(name) <= set(NAME_CHARACTERS)
        assert set(value) <= set(text)
        assert f"{name}=" in text


@given(st.dictionaries(NAMES, QUOTED, max_size=6), st.sampled_from([" ", "\n", "; ", ";", "\t"]))
@settings(max_examples=examples(300))
def test_double_quoted_assignments_read_as_they_were_written(
    environment: dict[str, str], separator: str
) -> None:
    text = separator.join(f'{name}="{value}"' for name, value in environment.items())

    assert environment_of_nbc_command(text) == environment


@given(COMMANDS, QUOTED)
@settings(max_examples=examples(300))
def test_assignments_in_front_do_not_depend_on_what_follows(rest: str, value: str) -> None:
    with_rest = environment_of_nbc_command(f'FIRST="{value}" {rest}')

    assert with_rest == {"FIRST": value} | environment_of_nbc_command(rest)


@given(st.binary(max_size=60))
@settings(max_examples=examples(300))
def test_no_feature_file_raises_and_flags_can_become_an_environment(text: bytes) -> None:
    for name, value in parse_features(text).items():
        assert name.isidentifier()
        assert "\0" not in value
        assert name.encode() + b"=" + value.encode(errors="surrogateescape") in text
