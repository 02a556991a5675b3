"""Values as YAML text that reads back as the same values, and holds nothing a terminal obeys."""

from __future__ import annotations

from fairlead.cli.files.yaml_values import render_yaml
from fairlead.contract.visible_text import visible


def yaml_of(value: object) -> str:
    """Return a value as YAML."""
    text = render_yaml(value)
    # PyYAML leaves marks that turn the direction of writing as they are, unless all but ASCII
    # is escaped.
    if visible(text, "\n") != text:
        return render_yaml(value, is_ascii=True)
    return text
