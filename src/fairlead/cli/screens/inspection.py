"""An inspection of user data, for people and for scripts. Shows names and sizes, never values."""

from __future__ import annotations

from fairlead.cli.screens.blocks import Block, line
from fairlead.inputs.leaf import Json
from fairlead.userdata.inspect import Inspection
from fairlead.userdata.known_problems import Problem


def inspection_blocks(inspection: Inspection) -> list[Block]:
    """Return the inspection as lines for people; names in it come from the document."""
    wrapped = " in ".join([inspection.kind or "empty", *reversed(inspection.wrappings)])
    lines = [f"{inspection.size} bytes: {wrapped}"]
    if inspection.too_large_for:
        lines.append(f"too large for: {', '.join(inspection.too_large_for)}")
    lines.append("parts:")
    for part in inspection.parts:
        lines.append(f"  {part.kind:24} {len(part.content):>9} bytes  {part.name}".rstrip())
    lines.append("files:")
    for file in inspection.files:
        lines.append(f"  {file.path or '(no path)':54} {len(file.content):>9} bytes")
    lines += _config_lines(inspection)
    lines.append("problems:" if inspection.problems else "problems: none known")
    for problem in inspection.problems:
        lines += _problem_lines(problem)
    return [line(text) for text in lines]


def inspection_fields(inspection: Inspection) -> dict[str, Json]:
    """Return the inspection as JSON values."""
    return {
        "bytes": inspection.size,
        "kind": inspection.kind,
        "wrappings": list(inspection.wrappings),
        "too_large_for": inspection.too_large_for,
        "parts": [
            {"kind": part.kind, "name": part.name, "bytes": len(part.content)}
            for part in inspection.parts
        ],
        "files": [{"path": file.path, "bytes": len(file.content)} for file in inspection.files],
        "endpoint": inspection.endpoint,
        "receipt": inspection.receipt,
        "config_problems": inspection.config_problems,
        "problems": [
            {"code": problem.code, "problem": problem.sentence, "effects": problem.effects}
            for problem in inspection.problems
        ],
    }


def _config_lines(inspection: Inspection) -> list[str]:
    lines = []
    if inspection.endpoint:
        lines.append(f"boot document: fetches from {inspection.endpoint.partition('?')[0]}")
    if inspection.receipt is not None:
        lines.append("node config:")
        for name, group in inspection.receipt.items():
            if isinstance(group, dict):
                paths = ", ".join(map(str, group["paths"]))
                lines.append(f"  {name:10} {group['count']:>4}  {paths}".rstrip())
    lines += [f"  problem: {problem}" for problem in inspection.config_problems]
    return lines


def _problem_lines(problem: Problem) -> list[str]:
    lines = [f"  {problem.code}: {problem.sentence}"]
    by_effect: dict[str, list[str]] = {}
    for version, effect in problem.effects.items():
        by_effect.setdefault(effect, []).append(version)
    lines += [f"    {', '.join(versions)}: {effect}" for effect, versions in by_effect.items()]
    return lines
