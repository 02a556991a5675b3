"""A cloud-config is read as cloud-init reads it, and no text can hurt whoever inspects it."""

import base64
import gzip
import time
from collections.abc import Callable

import pytest

from fairlead.userdata.inspect import Inspection, inspect_user_data

PATH = "/etc/fairlead/node-config.json"
CONFIG = '{"version": "v1", "kubernetes_version": "1.34.0"}'

# Far above what any of these takes, far below what they take without bounds.
LONGEST_S = 30

MIB = 1024 * 1024


def inspected(text: str) -> Inspection:
    return inspect_user_data(("#cloud-config\n" + text).encode("utf-8", "surrogateescape"))


def codes_of(text: str) -> list[str]:
    return [problem.code for problem in inspected(text).problems if problem.code != "no-config"]


@pytest.mark.parametrize(
    "text",
    [
        f"write_files:\n- path: {PATH}\n  permissions: '0600'\n  content: '{CONFIG}'\n",
        f"{{write_files: [{{path: {PATH}, permissions: '0600', content: '{CONFIG}'}}]}}\n",
        f"write_files: [{{content: '{CONFIG}', permissions: 0600, path: {PATH}}}]\n",
        f"write_files:\n- {{path: {PATH}, permissions: 384,\n  content: '{CONFIG}'}}\n",
        f"x: &file\n  path: {PATH}\n  permissions: '600'\n  content: '{CONFIG}'\n"
        "write_files: [*file]\n",
        f"x: &mode {{permissions: 0600}}\n"
        f"write_files:\n- <<: *mode\n  path: {PATH}\n  content: '{CONFIG}'\n",
        f"? write_files\n: - ? path\n    : {PATH}\n    permissions: 0o600\n"
        f"    content: !!binary {base64.b64encode(CONFIG.encode()).decode()}\n",
    ],
)
def test_a_node_config_is_found_in_whatever_style_it_is_written(text: str) -> None:
    inspection = inspected(text)

    assert [(file.path, file.content) for file in inspection.files] == [(PATH, CONFIG.encode())]
    assert inspection.receipt is not None
    codes = {problem.code for problem in inspection.problems}
    assert codes - {"unknown-key"} == {"write-in-place"}


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("0600", None),
        ("'0600'", None),
        ("'0o600'", None),
        # A number without a leading zero is decimal.
        ("600", "1130"),
        ("0644", "0644"),
        ("", "0644"),
        ("[]", "0644"),
    ],
)
def test_permissions_are_what_cloud_init_would_set(mode: str, told: str | None) -> None:
    inspection = inspected(f"write_files:\n- path: {PATH}\n  permissions: {mode}\n")

    sentences = [p.sentence for p in inspection.problems if p.code == "readable-secret"]
    assert sentences == (
        [f"{PATH} gets mode {told}; it may hold secrets, so only root should read it (0600)"]
        if told
        else []
    )


@pytest.mark.parametrize("word", ["true", "yes", "on", "Yes", "1", "'yes'", "' True '"])
def test_a_late_file_is_late_in_every_spelling_of_true(word: str) -> None:
    text = f"write_files:\n- {{path: {PATH}, permissions: 0600, defer: {word}}}\n"

    assert codes_of(text) == ["write-in-place", "late-config"]


@pytest.mark.parametrize("word", ["false", "no", "off", "0", "''", "[yes]", "2", "'y'"])
def test_a_file_is_not_late_in_any_other(word: str) -> None:
    text = f"write_files:\n- {{path: {PATH}, permissions: 0600, defer: {word}}}\n"

    assert codes_of(text) == ["write-in-place"]


def test_tabs_are_judged_by_the_loader_that_cloud_init_uses() -> None:
    """The loader in C reads the first of these and refuses the second."""
    assert codes_of("runcmd:\t[ls]\n") == ["broken-yaml"]
    assert codes_of("write_files:\n- path: /a\n  content: |\n    \tx\n") == []


@pytest.mark.parametrize("text", ["- ls\n", "ls\n", "5\n", "2026-11-16\n", "[]\n"])
def test_a_cloud_config_that_is_no_mapping_is_lost(text: str) -> None:
    assert codes_of(text) == ["no-mapping"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~\n", "{}\n"])
def test_an_empty_cloud_config_has_no_problem(text: str) -> None:
    assert codes_of(text) == []


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("runcmd:\n\t- ls\n", 3, "is not YAML: a tab stands where only spaces may"),
        ("a: [1\nb: 2\n", 3, "is not YAML: expected ',' or ']', but got ':'"),
        ("a: 1\n---\nb: 2\n", 3, "is not YAML: but found another document"),
        ("a: *b\n", 2, "*b refers to nothing above it"),
        ("a: !mine b\n", 2, "is not YAML: could not determine a constructor for the tag '!mine'"),
        ("\n? [a]\n: b\n", 3, "is not YAML: found unhashable key"),
        ("a: =\n", 2, "is not YAML: could not determine a constructor for the tag "
         "'tag:yaml.org,2002:value'"),
        ("a: 1\nb: \0\n", 3, "holds a character that YAML does not allow: "
         "special characters are not allowed"),
        ("a: 1\nb: \udcff\n", 3, "holds a character that YAML does not allow: "
         "special characters are not allowed"),
        ("\na: 2026-13-01\n", 3, "holds a value that cannot be read: "
         "ValueError('month must be in 1..12')"),
        ("a: !!bool maybe\n", 2, "holds a value that cannot be read: KeyError('maybe')"),
        ("a: !!int ''\n", 2, "holds a value that cannot be read: "
         "IndexError('string index out of range')"),
        ("a: !!timestamp x\n", 2, "holds a value that cannot be read: "
         "AttributeError(\"'NoneType' object has no attribute 'groupdict'\")"),
    ],
)  # fmt: skip
def test_what_cloud_init_cannot_read_is_told_with_its_line(text: str, line: int, says: str) -> None:
    [problem, _] = inspected(text).problems

    assert (problem.code, problem.sentence) == (
        "broken-yaml",
        f"line {line} of a cloud-config {says}",
    )
    assert problem.effects["22.4"] == "the cloud-config is lost, and the status is `done`"


def bomb_of_aliases() -> str:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{at}: &a{at} [{','.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 30)]
    return "\n".join(lines)


def bomb_of_merges() -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{at}: &a{at} {{<<: [{','.join([f'*a{at - 1}'] * 10)}]}}" for at in range(1, 30)]
    return "\n".join(lines)


def chain_of_aliases() -> str:
    lines = ["a0: &a0 [1]", *(f"a{at}: &a{at} [*a{at - 1}]" for at in range(1, 500))]
    return "\n".join(lines)


def one_text_many_times() -> str:
    entries = "- {path: /a, content: *x}\n" * 10_000
    return f"x: &x {'y' * 3 * MIB}\nwrite_files:\n{entries}"


@pytest.mark.parametrize(
    ("make", "line", "says"),
    [
        (lambda: "[" * 1_000_000, 2, "is nested deeper than 64 levels"),
        (lambda: "{a: " * 500_000, 2, "is nested deeper than 64 levels"),
        (lambda: "- " * 1_000_000, 2, "is nested deeper than 64 levels"),
        (lambda: "? " * 1_000_000, 2, "is nested deeper than 64 levels"),
        (chain_of_aliases, 65, "is nested deeper than 64 levels"),
        (bomb_of_aliases, 7, "holds more than 200000 values, aliases written out"),
        (bomb_of_merges, 7, "holds more than 200000 values, aliases written out"),
        # PyYAML needs seconds for so many; the bombs above say the same of few lines.
        pytest.param(
            lambda: "[" + "1," * 1_000_000, 2, "holds more than 200000 values, aliases written out",
            marks=pytest.mark.slow,
        ),
        (one_text_many_times, 4, "is larger than 4 MiB, aliases written out"),
        (lambda: "a: " + "x" * 5 * MIB, 1, "found 5.1 MiB, expected at most 4 MiB in one file"),
        (lambda: "a: &a [*a]", 2, "*a refers to nothing above it"),
        (lambda: "a: &a {<<: *a}", 2, "*a refers to nothing above it"),
        (lambda: "a: " + "1" * MIB, 2, "holds a number of more than 1000 digits"),
        (lambda: "a: 1" + ":1" * (MIB // 4), 2, "holds a number of more than 1000 digits"),
        (lambda: "a: 1" + ":1" * (MIB // 4) + ".5", 2, "holds a number of more than 1000 digits"),
        (lambda: "a: 0x" + "f" * 3 * MIB, 2, "holds a number of more than 1000 digits"),
    ],
)  # fmt: skip
def test_what_is_too_much_is_told_and_not_read(
    make: Callable[[], str], line: int, says: str
) -> None:
    text = make()
    start = time.monotonic()

    problem = inspected(text).problems[0]

    assert time.monotonic() - start < LONGEST_S
    assert (problem.code, problem.sentence) == (
        "unread-yaml",
        f"line {line} of a cloud-config {says}; nothing of it was read here",
    )
    assert problem.effects["22.4"] == "not judged"


def test_many_small_gzips_do_not_fill_the_memory() -> None:
    packed = base64.b64encode(gzip.compress(bytes(40 * MIB))).decode()
    entry = f"- {{path: /a, encoding: gz+b64, content: {packed}}}\n"

    inspection = inspected("write_files:\n" + entry * 20)

    assert sum(len(file.content) for file in inspection.files) == 16 * MIB
    assert len(inspection.files) == 20
    assert "large-files" in [problem.code for problem in inspection.problems]


def test_names_that_are_no_text_are_no_keys_and_long_ones_are_cut() -> None:
    inspection = inspected(f"7: a\nyes: b\n2026-11-16: c\n~: d\n{'k' * 1000}: e\nruncmd: []\n")

    assert [p.sentence for p in inspection.problems if p.code == "unknown-key"] == [
        "`7` is no key of cloud-config",
        "`True` is no key of cloud-config",
        "`2026-11-16` is no key of cloud-config",
        "`None` is no key of cloud-config",
        f"`{'k' * 200}` is no key of cloud-config",
    ]


@pytest.mark.parametrize(
    "value",
    ["a", "{a: 1}", "[1, [2], {3: 4}, ~, x]", "!!set {a, b}", "!!omap [a: 1]", "~",
     "[{path: [1], content: {a: 1}, encoding: 7, permissions: x, defer: {}}]",
     "[{path: ~, content: 5, permissions: -1}]", '[{path: "\\ud83d", content: "\\ud83d\\0"}]',
     "[{encoding: b64, content: '*'}, {encoding: gz, content: x}]"],
)  # fmt: skip
def test_write_files_may_hold_anything(value: str) -> None:
    inspection = inspected(f"write_files: {value}\n")

    assert "no-config" in [problem.code for problem in inspection.problems]
