"""
The kinds of source that a script variable has: a field, a constant, a rule.

Each function here returns a Source. Rules of one variable live with their subject, in cloud.py,
gpu.py and so on, and are Sources themselves.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import render_flag, render_real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.agent.aks.components import Components
    from fairlead.contract.node_config import NodeConfig


class Machine:
    """What decides the script environment of one machine."""

    __slots__ = ("components", "config", "containerd_version")

    def __init__(self, config: NodeConfig, components: Components, containerd_version: str) -> None:
        self.config = config
        self.components = components
        self.containerd_version = containerd_version


if TYPE_CHECKING:
    Source = Callable[[Machine], str]


def always(value: str) -> Source:
    """The same for every machine."""
    return lambda machine: value


def text(path: str) -> Source:
    """A text field."""
    return lambda machine: machine.config.text(path)


def text_or(path: str, default: str) -> Source:
    """A text field; the default if it is empty."""
    return lambda machine: machine.config.text(path) or default


def one_line(path: str) -> Source:
    """A text field without its line breaks."""
    return lambda machine: without_line_breaks(machine.config.text(path))


def joined(path: str) -> Source:
    """A list of texts, with commas between them."""
    return lambda machine: ",".join(machine.config.texts(path))


def flag(path: str) -> Source:
    """A bool field."""
    return lambda machine: render_flag(machine.config.flag(path))


def flag_or(path: str, default: str) -> Source:
    """An optional bool field; the default if the document does not set it."""

    def source(machine: Machine) -> str:
        config = machine.config
        return render_flag(config.flag(path)) if config.has(path) else default

    return source


def number(path: str) -> Source:
    """An integer field."""
    return lambda machine: str(machine.config.number(path))


def number_or(path: str, default: str) -> Source:
    """An optional integer field; the default if the document does not set it."""

    def source(machine: Machine) -> str:
        config = machine.config
        return str(config.number(path)) if config.has(path) else default

    return source


def real_or(path: str, default: str) -> Source:
    """An optional floating-point field; the default if the document does not set it."""

    def source(machine: Machine) -> str:
        config = machine.config
        return render_real(config.real(path)) if config.has(path) else default

    return source


def choice(path: str, words: dict[int, str]) -> Source:
    """An enum field as a word; nothing for a number without one."""
    return lambda machine: words.get(machine.config.number(path), "")


def chosen(path: str, wanted: int) -> Source:
    """Whether an enum field has this number."""
    return lambda machine: render_flag(machine.config.number(path) == wanted)


def filled(path: str) -> Source:
    """Whether a text, list or map holds anything."""
    return lambda machine: render_flag(machine.config.find(path))


def all_filled(*paths: str) -> Source:
    """Whether none of these texts is empty."""
    return lambda machine: render_flag(all(machine.config.text(path) for path in paths))


def present(path: str) -> Source:
    """Whether the document has this message, be it empty."""
    return lambda machine: render_flag(machine.config.has(path))


def without_line_breaks(value: str) -> str:
    """Return the text without line feeds and carriage returns."""
    return value.replace("\n", "").replace("\r", "")
