"""
LEAF=VALUE words to a merge patch of the PlatformConfig document.

Names in a family may hold dots themselves (registryOverrides.registry.example.com), so a path is
split by the registry's rows, never at every dot. A notice belongs to one change: setting its leaf
again without one takes it away.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from fairlead.answers.words import LeafClass
from fairlead.cli.files.yaml_values import parse_yaml_value
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Leaf
from fairlead.inputs.parse import platform_rows
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.shape import IMAGE, TEXT, VERSION
from fairlead.userdata.yaml_bounds import YamlProblem

FAMILY = ".*"


def platform_patch(words: list[str], notice: dict[str, str]) -> Mapping[str, Json]:
    """Return the merge patch that the words ask for. Raises InputError."""
    patch: dict[str, Json] = {}
    notices: dict[str, Json] = {}
    for word in words:
        leaf, equals, text = word.partition("=")
        leaf = leaf.removeprefix(PLATFORM)
        if not equals:
            raise InputError(f"found {word!r}, expected LEAF=VALUE", hint="LEAF= unsets it")
        row, names = _find_row(leaf)
        _put(patch, names, _value_of(row, leaf, text))
        if row.leaf_class is LeafClass.PLATFORM:
            notices[leaf] = notice if notice and text else None
    return {**patch, "notices": notices} if notices else patch


def _find_row(leaf: str) -> tuple[Leaf, list[str]]:
    """Return the row of a leaf, and the names that lead to it in the document."""
    for row in platform_rows():
        path = row.path.removeprefix(PLATFORM)
        family = path.removesuffix(FAMILY)
        if path == leaf:
            return row, leaf.split(".")
        if family != path and leaf.startswith(family + ".") and len(leaf) > len(family) + 1:
            return row, [*family.split("."), leaf.removeprefix(family + ".")]
    known = [row.path.removeprefix(PLATFORM) for row in platform_rows()]
    close = difflib.get_close_matches(leaf, known, 1)
    hint = f"did you mean {close[0]}?" if close else "known: " + ", ".join(known)
    raise InputError("no platform leaf has this name", field=leaf, hint=hint)


def _put(patch: dict[str, Json], names: list[str], value: Json) -> None:
    for name in names[:-1]:
        below = patch.setdefault(name, {})
        assert isinstance(below, dict)  # noqa: S101 - made here, for a name that others are below
        patch = below
    patch[names[-1]] = value


def _value_of(row: Leaf, leaf: str, text: str) -> Json:
    if not text:
        return None
    if row.shape in (IMAGE, TEXT, VERSION) and text[0] not in "'\"":
        return text  # a version such as 1.30 is not a number here
    try:
        value = parse_yaml_value(text)
    except YamlProblem as problem:
        raise InputError(problem.says, field=leaf) from problem
    row.shape.parse(value, leaf)
    return value
