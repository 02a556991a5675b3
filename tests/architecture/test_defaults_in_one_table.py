"""What we fill in stands in one table; a default anywhere else would be hashed as the owner's."""

import ast
from collections.abc import Iterator
from pathlib import Path

from fairlead.inputs.defaults import DEFAULTS, REACHING
from shared_cases import REPOSITORY

SOURCE = REPOSITORY / "src" / "fairlead"

# Everything that reads what an owner wrote.
READERS = (
    *sorted((SOURCE / "inputs").glob("*.py")),
    SOURCE / "rollout/policy.py",
    SOURCE / "rollout/window.py",
    SOURCE / "revision/node_config_text.py",
    SOURCE / "revision/spelling.py",
)

# No value, an empty one, and two names: a default stream, and a part of a schema.
NOTHING = ("[]", "{}", "''", "None", "default", "_object({})")

CONDITIONS = (ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp)


def fallbacks(tree: ast.Module) -> Iterator[ast.expr]:
    """What takes the place of a value that is missing: get(name, THIS), and `value or THIS`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="get" | "setdefault" | "pop"), args=[_, value]):
                yield value
            case ast.BoolOp(op=ast.Or(), values=[*_, value]):
                if not isinstance(value, CONDITIONS):
                    yield value


def is_of_the_table(value: ast.expr) -> bool:
    """Say whether a fallback is a row of the table, or nothing at all."""
    text = ast.unparse(value)
    return text.startswith("DEFAULTS[") or text in NOTHING


def strange_defaults(text: str) -> list[str]:
    return [
        ast.unparse(found) for found in fallbacks(ast.parse(text)) if not is_of_the_table(found)
    ]


def test_nothing_is_filled_in_that_is_no_row_of_the_table() -> None:
    found: dict[Path, list[str]] = {path: strange_defaults(path.read_text()) for path in READERS}

    assert {path.name: values for path, values in found.items() if values} == {}


def test_a_default_elsewhere_would_be_seen() -> None:
    assert strange_defaults('file.get("mode", "0644")') == ["'0644'"]
    assert strange_defaults('zone = fields.get("zone") or "UTC"') == ["'UTC'"]
    assert strange_defaults('fields.get("zone", DEFAULTS["zone"])') == []


def test_what_reaches_machines_is_a_row_of_the_table() -> None:
    assert set(REACHING) <= set(DEFAULTS)
