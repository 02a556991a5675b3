"""The hotfix pointer: tolerant reading, default deny, the gate, and rewriting."""

import gzip
import json
from typing import Any

import pytest

from fairlead.contract.hotfix.pointer import parse_pointer, render_pointer, resolution_of, resolve
from shared_cases import shared_case

# Where upstream's library reads a version that is not digits.digits.digits, ours does not.
UPSTREAM_UPGRADES_AND_WE_DO_NOT = {
    ("202604.1.1-rc1", "202604.1.007"),
    ("v202604.01.0", "202604.1.3"),
    ("202604.01", "202604.01.3"),
    ("202601.15.0", "202601.15.1+b"),
    ("202605.30.1+b", "202605.30.3"),
    ("202601.15.1-rc1", "202601.15.10"),
}


def resolution_cases() -> list[dict[str, Any]]:
    with gzip.open(shared_case("hotfix-resolution.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_pointer_means_what_the_published_controller_understood() -> None:
    different = set()
    for case in resolution_cases():
        answer = resolution_of(parse_pointer(case["pointer"].encode()), case["current"]).encode()
        if "readError" in case:
            assert answer == {
                "current": case["current"],
                "resolved": "",
                "upgrade": False,
                "scripts": "",
            }
            continue
        expected = {name: case[name] for name in ("current", "resolved", "upgrade", "scripts")}
        if answer != expected:
            assert answer == expected | {"upgrade": False}
            different.add((case["current"], case["resolved"]))

    assert different == UPSTREAM_UPGRADES_AND_WE_DO_NOT


@pytest.mark.parametrize(
    ("pointer", "current", "resolved", "upgrade"),
    [
        (
            '{"hotfixes": {"202604.01": "202604.01.3", "202605.30": "202605.30.1"}}',
            "202604.01.0",
            "202604.01.3",
            True,
        ),
        ('{"hotfixes": {"202605.30": "202605.30.1"}}', "202604.01.0", "", False),
        ('{"hotfixes": {"202604.01": "202604.01.0"}}', "202604.01.0", "202604.01.0", False),
        ('{"hotfixes": {"202604.01": "202605.30.9"}}', "202604.01.0", "202605.30.9", False),
        ('{"hotfixes": {}, "version": "202604.01.3"}', "202604.01.0", "202604.01.3", True),
        ('{"hotfixes": {"202604.01": "202604.01.3"}}', "dev", "", False),
        ('{"version": "202604.01.3"}', "dev", "202604.01.3", False),
        ('{"hotfixes": {"202605.30": "x"}, "version": "202604.01.3"}', "202604.01.0", "", False),
        ('{"hotfixes": {"202604.1": "202604.1.3"}}', "202604.01.0", "", False),
        ('{"hotfixes": {"202604.01": " 202604.01.3 "}}', "202604.01.0", "202604.01.3", True),
        ('{"hotfixes": {"202604.01": null}, "version": "202604.01.3"}', "202604.01.0", "", False),
    ],
)
def test_the_table_of_resolutions(pointer: str, current: str, resolved: str, upgrade: bool) -> None:
    resolution = resolution_of(parse_pointer(pointer.encode()), current)

    assert (resolution.resolved, resolution.upgrade) == (resolved, upgrade)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", ""),
        (b" \n", ""),
        (b"null", ""),
        (b"{", "the hotfix pointer cannot be used: not JSON: "),
        (b"[]", "the hotfix pointer cannot be used: found a list, expected an object"),
        (
            b'{"version": 5}',
            "the hotfix pointer cannot be used: version: found a number, expected a",
        ),
        (
            b'{"hotfixes": []}',
            "the hotfix pointer cannot be used: hotfixes: found a list, expected an object",
        ),
        (
            b'{"hotfixes": {"202604.01": 3}, "version": "202604.01.3"}',
            "the hotfix pointer cannot be used: hotfixes: 202604.01: found a number, expected a",
        ),
        (b"\xff", "the hotfix pointer cannot be used: not UTF-8 at byte 0"),
        (b"[" * 100_000, "the hotfix pointer cannot be used: not usable JSON: nested too deeply"),
    ],
)
def test_a_pointer_that_cannot_be_used_is_empty_and_says_why(text: bytes, problem: str) -> None:
    pointer = parse_pointer(text)

    assert pointer.problem.startswith(problem)
    assert bool(pointer.problem) == bool(problem)
    assert resolve(pointer, "202604.01.0") == ""
    assert (pointer.hotfixes, pointer.version, pointer.scripts_version) == ({}, "", "")


@pytest.mark.parametrize(
    ("pointer", "resolved"),
    [
        ('{"Hotfixes": {"202604.01": "202604.01.3"}}', "202604.01.3"),
        ('{"HOTFIXES": {"202605.30": "202605.30.1"}, "version": "202604.01.3"}', ""),
        ('{"hotfixe\u017f": {"202605.30": "202605.30.1"}, "version": "202604.01.3"}', ""),
        ('{"VERSION": "202604.01.3"}', "202604.01.3"),
        ('{"version": "202604.01.3", "Version": "202604.01.4"}', "202604.01.4"),
        ('{"version": "202604.01.3", "Version": null}', "202604.01.3"),
        ('{"version ": "202604.01.3", "hot-fixes": {"202604.01": "202604.01.3"}}', ""),
        ('{"hotfixes": {"202604.01": "202604.01.3"}, "hotfixes": {"a": "b"}}', "202604.01.3"),
        ('{"hotfixes": {"a": "b"}, "hotfixes": null, "version": "202604.01.3"}', "202604.01.3"),
        ('{"hotfixes": {"202605.30": "\\ud800", "202604.01": "202604.01.3"}}', "202604.01.3"),
        ('{"version": "2026\\ud80004.01.3"}', "2026\ufffd04.01.3"),
        ('{\r\n"hotfixes":\r\n{"202604.01":\r\n"202604.01.3\\r\\n"}}\r\n', "202604.01.3"),
        ('{"hotfixes": {" 202604.01": "202604.01.3"}}', ""),
        ('{"hotfixes": {"202604.01": "\u200b202604.01.3"}}', "\u200b202604.01.3"),
        ('{"hotfixes": {"202604.01": "\u0085202604.01.3\u00a0"}}', "202604.01.3"),
        ('\ufeff{"version": "202604.01.3"}', ""),
        ('{"version": "202604.01.3"} {}', ""),
        ('{"version": "202604.01.3",}', ""),
        ('{"version": 202604}', ""),
        ('{"Version": ["202604.01.3"], "hotfixes": {"202604.01": "202604.01.3"}}', ""),
    ],
)
def test_spellings_of_a_pointer_mean_what_they_mean_to_the_published_agent(
    pointer: str, resolved: str
) -> None:
    # Each was given to the library that it reads its pointer with.
    assert resolve(parse_pointer(pointer.encode()), "202604.01.0") == resolved


def test_a_rewrite_knows_our_names_in_any_case() -> None:
    pointer = parse_pointer(b'{"Version": "202604.01.3", "SCRIPTS_VERSION": "202604.01.2"}')

    assert render_pointer(pointer, {}) == (
        b'{"version":"202604.01.3","scripts_version":"202604.01.2"}\n'
    )


def test_a_rewrite_replaces_the_map_and_keeps_everything_else() -> None:
    pointer = parse_pointer(
        b'{"future": {"b": 1, "a": [1e999, null]}, "version": "202604.01.3",'
        b' "hotfixes": {"202601.15": "202601.15.1"}, "scripts_version": "202604.01.2",'
        b' "x": "\xc3\xbc"}'
    )

    text = render_pointer(pointer, {"202604.01": "202604.01.4", "202605.30": None})

    assert text == (
        b'{"version":"202604.01.3","scripts_version":"202604.01.2",'
        b'"hotfixes":{"202604.01":"202604.01.4","202605.30":null},'
        b'"future":{"b":1,"a":[1e999,null]},"x":"\\u00fc"}\n'
    )


def test_a_rewrite_without_hotfixes_has_no_map() -> None:
    assert render_pointer(parse_pointer(b'{"version": "1.2.3"}'), {}) == b'{"version":"1.2.3"}\n'
