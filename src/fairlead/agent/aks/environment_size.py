"""
Which value made an environment larger than the kernel passes to a program.

Linux takes 128 KiB for one variable, and for all of them together a quarter of the stack's limit.
"""

from __future__ import annotations

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.contract.node_config import NodeConfig, Value

# MAX_ARG_STRLEN, 32 pages, holds the name, the sign between, the value and a final zero.
LONGEST_VARIABLE = 128 * 1024


def too_large(environment: dict[str, str], config: NodeConfig | None) -> InputError:
    """Return the error that names the largest value: by its field, where a node config has it."""
    sizes = {name: _size(f"{name}={value}") + 1 for name, value in environment.items()}
    name = max(sizes, key=lambda name: sizes[name])
    length, field = _longest_text(config.fields, "") if config is not None else (0, "")
    # What a variable is made of is at least half of it: base64 and lists add less.
    field = field if 2 * length >= sizes[name] else ""
    if sizes[name] > LONGEST_VARIABLE:
        problem = f"makes {name} {sizes[name]} bytes, a program takes {LONGEST_VARIABLE} at most"
    else:
        problem = (
            f"with {sum(sizes.values())} bytes of variables no program can be started; "
            f"the largest is {name}, {sizes[name]} bytes"
        )
    return InputError(problem, field=field or name, hint="make it shorter")


def _longest_text(value: Value, path: str) -> tuple[int, str]:
    """Return the length and the path of the longest text in a part of a node config."""
    if isinstance(value, (str, bytes)):
        return len(value if isinstance(value, bytes) else value.encode()), path
    items = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        items = [("", item) for item in value]
    parts = [
        _longest_text(item, f"{path}.{name}" if path and name else path or name)
        for name, item in items
    ]
    return max(parts, default=(0, path))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
