"""
Bytes to a node config, by the rules of protojson, using as much as can be used.

Nothing here raises: a wrong type, a duplicate or broken text costs that one field and becomes a
problem that names its path; unknown names and unknown enum names are ignored, as upstream's
reader does. `mustUnderstand`, `hotfixes` and `fairlead` at the top are ours, not the schema's.
Problems tell the kind of value that was found, never the value.
"""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, TrailingTextError, parse_json, plain
from fairlead.contract.node_config import FieldProblem, NodeConfig
from fairlead.contract.node_receipt import REFUSED, UNDERSTOOD, Receipt, shown_name
from fairlead.contract.node_schema import ENUMS, JSON_NAMES, MESSAGES, TOP_MESSAGE
from fairlead.contract.proto_scalar import is_unicode, kind_of, scalar_of
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# A list of hostile elements must not fill the memory; a person reads the first few.
MAX_LISTED = 50
SINGULAR = ("", "optional")
SETTINGS = "fairlead"
OWN_NAMES = ("mustUnderstand", "must_understand", "hotfixes", SETTINGS)


class ParsedNodeConfig:
    """
    What one document says, and what is wrong with it.

    violations: why the document's `mustUnderstand` is not met; any stops the boot.
    cold_start_hotfixes: the top-level `hotfixes`, base to version (None is a tombstone), or
    None if the document has none.
    unused: settings that this reader has no use for, as a config of their own, or None: what is
    secret in them is secret all the same.
    """

    __slots__ = ("cold_start_hotfixes", "config", "problems", "receipt", "unused", "violations")

    def __init__(self, reader: _Reader, fields: dict[str, object]) -> None:
        self.config = NodeConfig(fields)
        self.receipt = reader.receipt
        self.problems = reader.problems
        self.violations: list[FieldProblem] = []
        self.cold_start_hotfixes: dict[str, str | None] | None = None
        self.unused: NodeConfig | None = None


def parse_node_config(text: bytes, *, takes_settings: bool = True) -> ParsedNodeConfig:
    """
    Return the config of a document, with every problem by path. Never raises.

    Without takes_settings the reader is one that has no use for the `fairlead` object: bootstrap
    scripts know nothing of it, and the receipt says so.
    """
    reader = _Reader()
    pairs = _document_of(text, reader)
    own = [pair for pair in pairs if pair[0] in OWN_NAMES]
    if own:
        pairs = Pairs(pair for pair in pairs if pair[0] not in OWN_NAMES)
    parsed = ParsedNodeConfig(reader, reader.message(TOP_MESSAGE, pairs, ""))
    given = [pair for pair in own if pair[1] is not None]
    # First, because mustUnderstand may be about a setting.
    for name, value in given:
        if name == SETTINGS:
            _read_settings(value, parsed, reader, takes_settings=takes_settings)
    reader.close(parsed.config.fields)
    for name, value in given:
        if name == "hotfixes":
            _read_hotfixes(value, parsed)
        elif name != SETTINGS:
            parsed.violations += _violations_of(value, parsed)
    return parsed


def _document_of(text: bytes, reader: _Reader) -> Pairs:
    try:
        value = parse_json(text, encoding_errors="surrogateescape", deepest=None)
    except TrailingTextError as error:
        value = error.value
        reader.complain("", error.problem)
    except InputError as error:
        reader.complain("", error.problem)
        return Pairs()
    if isinstance(value, Pairs):
        return value
    reader.complain("", f"found {kind_of(value)}, expected an object")
    return Pairs()


class _Reader:
    """One pass over one document; collects problems and the receipt on the way."""

    __slots__ = ("fields_met", "problem_count", "problems", "receipt", "refused")

    def __init__(self) -> None:
        self.receipt = Receipt()
        self.problems: list[FieldProblem] = []
        self.problem_count = 0
        self.fields_met = 0
        self.refused = 0

    def close(self, fields: dict[str, object]) -> None:
        receipt = self.receipt
        receipt.defaulted = self.fields_met - receipt.understood - self.refused
        receipt.close(fields)
        unlisted = self.problem_count - len(self.problems)
        if unlisted:
            self.problems.append(FieldProblem("", f"{unlisted} more problems are not listed"))

    def complain(self, path: str, problem: str) -> None:
        self.problem_count += 1
        if len(self.problems) < MAX_LISTED:
            self.problems.append(FieldProblem(path, problem))

    def ignore(self, path: str) -> None:
        self.receipt.ignored += 1
        if len(self.receipt.ignored_paths) < MAX_LISTED:
            self.receipt.ignored_paths.append(path)

    def refuse(self, path: str, problem: str) -> None:
        self.complain(path, problem)
        self.ignore(path)

    def message(self, message: str, pairs: Pairs, prefix: str) -> dict[str, object]:
        """Return the fields of one message that are present, by proto name."""
        fields = MESSAGES[message]
        values: dict[str, object] = {}
        for key, value in pairs:
            name = key if key in fields else proto_name_of(message, key)
            if not name:
                self.ignore(prefix + shown_name(key))
            elif name in values:
                self.complain(prefix + name, "set twice; the first value is used")
            elif value is None:
                values[name] = None
            else:
                values[name] = self._field(fields[name], value, prefix + name)
        self._settle(fields, values, prefix)
        return values

    def _settle(
        self, fields: dict[str, tuple[int, str, str]], values: dict[str, object], prefix: str
    ) -> None:
        """Count the fields of a finished message and drop those that protobuf calls unset."""
        self.fields_met += len(fields)
        self.receipt.understood += len(values)
        for name in [name for name, value in values.items() if not value]:
            _, kind, label = fields[name]
            if values[name] is None:
                self.receipt.understood -= 1
                del values[name]
            elif label != "optional" and (label or kind not in MESSAGES):
                self.receipt.note(prefix + name, UNDERSTOOD)
                del values[name]

    def _field(self, field: tuple[int, str, str], value: object, path: str) -> object:
        """Return a field's value, or None if it cannot be used."""
        _, kind, label = field
        if kind == "string" and type(value) is str and label in SINGULAR and value.isascii():
            return value  # most fields of most documents; the rest of the way is slower
        found: object
        if label == "map":
            found = self._map(kind, value, path)
        elif label == "repeated":
            found = self._list(kind, value, path)
        else:
            found = self._single(kind, value, path)
        if found is None:
            self.refused += 1
            self.receipt.note(path, REFUSED)
        return found

    def _single(self, kind: str, value: object, path: str) -> object:
        if kind in MESSAGES:
            if isinstance(value, Pairs):
                return self.message(kind, value, path + ".")
            self.refuse(path, f"found {kind_of(value)}, expected an object")
            return None
        try:
            if kind in ENUMS and isinstance(value, str):
                return self._enum(kind, value, path)
            return scalar_of("int32" if kind in ENUMS else kind, value)
        except InputError as error:
            self.refuse(path, error.problem)
            return None

    def _enum(self, kind: str, name: str, path: str) -> int | None:
        number = ENUMS[kind].get(name)
        if number is None:
            self.ignore(path)
        return number

    def _list(self, kind: str, value: object, path: str) -> list[object] | None:
        if not isinstance(value, list) or isinstance(value, Pairs):
            self.refuse(path, f"found {kind_of(value)}, expected a list")
            return None
        items = (self._single(kind, item, f"{path}[{at}]") for at, item in enumerate(value))
        return [item for item in items if item is not None]

    def _map(self, kind: str, value: object, path: str) -> dict[str, object] | None:
        if not isinstance(value, Pairs):
            self.refuse(path, f"found {kind_of(value)}, expected an object")
            return None
        entries: dict[str, object] = {}
        for key, item in value:
            if not is_unicode(key):
                self.refuse(f"{path}[{shown_name(key)}]", "the key is not valid Unicode")
            elif key in entries:
                self.complain(f"{path}[{shown_name(key)}]", "set twice; the first value is used")
            elif kind == "string" and type(item) is str and item.isascii():
                entries[key] = item
            else:
                entries[key] = self._single(kind, item, f"{path}[{shown_name(key)}]")
        return {key: item for key, item in entries.items() if item is not None}


_CAMEL_NAMES: dict[str, dict[str, str]] = {}


def proto_name_of(message: str, name: str) -> str | None:
    """Return the proto name of a field called by its proto or JSON name; None if unknown."""
    if name in MESSAGES[message]:
        return name
    names = _CAMEL_NAMES.get(message)
    if names is None:
        # Built on the first miss only: the writers we know use proto names.
        names = {json_name_of(field): field for field in MESSAGES[message]}
        _CAMEL_NAMES[message] = names
    return names.get(name)


def json_name_of(name: str) -> str:
    """Return the camelCase name of a field."""
    return JSON_NAMES.get(name) or _folded(name.split("_"))


def _folded(words: list[str]) -> str:
    return words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])


def _read_hotfixes(value: object, parsed: ParsedNodeConfig) -> None:
    # Imported here: a config with hotfixes of its own is rare.
    from fairlead.contract.hotfix.pointer import hotfixes_of

    hotfixes, problems = hotfixes_of(value)
    parsed.cold_start_hotfixes = hotfixes
    parsed.problems += [FieldProblem("hotfixes", problem) for problem in problems[:MAX_LISTED]]


def _read_settings(
    value: object, parsed: ParsedNodeConfig, reader: _Reader, *, takes_settings: bool
) -> None:
    if not takes_settings:
        reader.ignore(SETTINGS)
        parsed.unused = _unused_of(value)
        return
    if not isinstance(value, Pairs):
        reader.refuse(SETTINGS, f"found {kind_of(value)}, expected an object")
        return
    try:
        _take_settings(value, parsed.config, reader)
    except RecursionError:
        parsed.config.settings.clear()
        reader.refuse(SETTINGS, "nested too deeply")


def _unused_of(value: object) -> NodeConfig | None:
    try:
        return NodeConfig({}, plain(value)) if isinstance(value, Pairs) else None
    except RecursionError:
        return None


def _take_settings(pairs: Pairs, config: NodeConfig, reader: _Reader) -> None:
    # Imported here: the documents of AKS have none.
    from fairlead.contract.node_settings import is_applied

    for name, value in pairs:
        if name in config.settings:
            reader.complain(_setting_path(name), "set twice; the first value is used")
            continue
        config.settings[name] = plain(value)
        if is_applied(name):
            reader.fields_met += 1
            reader.receipt.understood += 1
        else:
            reader.ignore(_setting_path(name))


def _setting_path(name: str) -> str:
    return f"{SETTINGS}[{shown_name(name)}]"


def _violations_of(paths: object, parsed: ParsedNodeConfig) -> Iterable[FieldProblem]:
    if not isinstance(paths, list) or isinstance(paths, Pairs):
        yield FieldProblem("mustUnderstand", f"found {kind_of(paths)}, expected a list of paths")
        return
    for path in paths:
        if not isinstance(path, str):
            yield FieldProblem("mustUnderstand", f"found {kind_of(path)}, expected a field path")
            continue
        known = known_path_of(path)
        shown = ".".join(shown_name(part) for part in path.split(".")[:8])
        if known is None:
            yield FieldProblem(shown, "must be understood, and this agent does not know the field")
        elif {known, known.partition("[")[0]}.intersection(parsed.receipt.ignored_paths):
            yield FieldProblem(shown, "must be understood, and its value cannot be used")


def known_path_of(path: str) -> str | None:
    """
    Return a dotted path in proto names, or None if the contract has no such field.

    Each part may be a proto or a JSON name. Behind a map one part is a key, and any will do.
    """
    if path in OWN_NAMES:
        return path
    if path.startswith(SETTINGS + "."):
        return _known_setting(path.removeprefix(SETTINGS + "."))
    message, key_expected = TOP_MESSAGE, False
    names: list[str] = []
    for part in path.split("."):
        if key_expected:
            names[-1] += f"[{shown_name(part)}]"
            key_expected = False
            continue
        name = proto_name_of(message, part) if message in MESSAGES else None
        if name is None:
            return None
        _, message, label = MESSAGES[message][name]
        key_expected = label == "map"
        names.append(name)
    return ".".join(names)


def _known_setting(name: str) -> str | None:
    from fairlead.contract.node_settings import is_applied

    return _setting_path(name) if is_applied(name) else None
