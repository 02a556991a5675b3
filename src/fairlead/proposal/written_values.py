"""
Values that would reach a machine as something else than what was written.

YAML has numbers, true and false where programs read text; what is no text has no one spelling
there, so its owner says which: '1' or '0' for true, '0644' for 420.
"""

import re
from collections.abc import Iterator, Mapping

from fairlead.inputs.leaf import Json, Leaves, Shape
from fairlead.inputs.parse import written
from fairlead.inputs.registry import find_row
from fairlead.inputs.shape import (
    ADDRESS,
    BASE,
    DIGEST,
    ENDPOINT,
    IMAGE,
    PROXY,
    STREAM,
    TEXT,
    TEXT_SET,
    is_empty,
    kind_of,
    quotes_hint,
)
from fairlead.proposal.complaint import Complaint

# Texts of several lines, and notes.
FREE_TEXTS = ("description", "platform.description", "platform.stub.ca")

LARGEST_MODE = 0o7777

# Shapes whose text must look like something, which the parser of what runs does not ask for.
EXPECTED = (
    (IMAGE, "the name of an image", "[REGISTRY/]NAME[:TAG][@DIGEST]"),
    (BASE, "the base of an image", "like 202607.02"),
    (STREAM, "a stream", "like ubuntu-24.04"),
    (DIGEST, "a digest", "sha256: and hexadecimal digits, as a registry shows it"),
    (PROXY, "the address of a proxy", "like http://proxy.example:3128"),
    (ENDPOINT, "the name of an API server", "like api.example or api.example:6443"),
    (ADDRESS, "an address", "like 10.0.0.4 or [fd00::4]; a name is for endpoint.name"),
)
TEXTS = (TEXT, TEXT_SET, *(shape for shape, _, _ in EXPECTED))

TEMPLATE = "machineTemplate."
# Fields of a machine template that say how large something is; a price may be -1, for any.
_SIZE = re.compile(r"(GB|GiB|Gi|MB|MiB|Mi|[cC]ount)$", re.ASCII)
# What one interface has: a VLAN's name has a dot in it.
_INTERFACE = re.compile(
    r"(net\.ipv[46]\.(?:conf|neigh))\.([^./]+(?:\.[^./]+)+)\.([a-z0-9_]+)", re.ASCII
)
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}", re.ASCII)

# kind of document: two fields that say the same thing, of which one would be left out
TWINS = {"ContainerdConfiguration": ("settings", "toml"), "Sysctl": ("settings", "text")}


def bent_documents(spec: Json) -> Iterator[Complaint]:
    """List what is wrong with the values in configuration documents and taints."""
    fields = spec if isinstance(spec, Mapping) else {}
    for at, document in enumerate(_list_of(fields.get("config"))):
        if isinstance(document, Mapping):
            yield from _bent_document(document, f"spec.config[{at}]")
    for at, taint in enumerate(_list_of(fields.get("taints"))):
        value = taint.get("value") if isinstance(taint, Mapping) else None
        if not is_empty(value) and not isinstance(value, str):
            yield _no_text(value, f"spec.taints[{at}].value")
    template = fields.get("machineTemplate")
    for name, value in template.items() if isinstance(template, Mapping) else ():
        if value is not None and is_empty(value):
            field = f"spec.{TEMPLATE}{name}"
            yield Complaint(field, "found nothing, expected a value", "leave it out")
    if fields.get("autoscaling") == {}:
        hint = "write min and max, or leave it out and write replicas"
        yield Complaint("spec.autoscaling", "found nothing in it, expected min and max", hint)


def bent_texts(leaves: Leaves) -> Iterator[Complaint]:
    """List the texts that are blank, padded or not printable, and those that mean nothing."""
    for path, value in leaves.items():
        row = find_row(path)
        if row is None or row.path in FREE_TEXTS or row.shape not in TEXTS:
            continue
        for text in value if isinstance(value, list) else [value]:
            yield from _bent_text(str(text), written(path), row.shape)


def idle_texts(leaves: Leaves) -> Iterator[Complaint]:
    """List what stands beside something that leaves it no meaning, and names of no field."""
    if "endpoint.name" in leaves and "endpoint.advertiseAddress" in leaves:
        problem = "has no meaning beside endpoint.name, which machines use"
        yield Complaint("spec.endpoint.advertiseAddress", problem, "write one of the two")
    if "proxy.noProxy" in leaves and not {"proxy.http", "proxy.https"} & leaves.keys():
        problem = "has no meaning without proxy.http or proxy.https"
        yield Complaint("spec.proxy.noProxy", problem, "leave it out")
    for path, value in leaves.items():
        if path.startswith(TEMPLATE):
            yield from _bent_part(value, written(path))
        if path.startswith(TEMPLATE) and not _FIELD.fullmatch(path.removeprefix(TEMPLATE)):
            problem = "is no name of a machine-template field"
            yield Complaint(written(path), problem, "like vmSize", is_name=True)


def _bent_text(text: str, field: str, shape: Shape) -> Iterator[Complaint]:
    if not text.isprintable() or text != text.strip():
        problem = "holds white space around it, or a character that is not printable"
        yield Complaint(field, f"{problem}: {text[:40]!a}", "write it without")
        return
    for known, expected, hint in EXPECTED:
        if shape is known and not re.search(str(shape.schema["pattern"]), text, re.ASCII):
            # What stands before @ in the address of a proxy may be a password.
            found = "text" if shape is PROXY and "@" in text else kind_of(text)
            yield Complaint(field, f"found {found}, expected {expected}", hint)


def _bent_part(value: Json, field: str) -> Iterator[Complaint]:
    """Say what is wrong with one field of a machine template."""
    if isinstance(value, str):
        yield from _bent_text(value, field, TEXT)
    elif isinstance(value, Mapping | list):
        problem = f"found {kind_of(value)}, expected text, a number, true or false"
        yield Complaint(field, problem, "each field of a machine template is one value")
    elif _SIZE.search(field) and isinstance(value, int | float) and value <= 0:
        yield Complaint(field, f"found {kind_of(value)}, expected a number above 0", "like 128")


def _bent_document(document: Mapping[str, Json], path: str) -> Iterator[Complaint]:
    kind = str(document.get("kind"))
    if kind in TWINS and all(not is_empty(document.get(name)) for name in TWINS[kind]):
        first, second = TWINS[kind]
        yield Complaint(f"{path}.{first}", f"cannot stand beside {second}", "write one of the two")
    if kind == "Sysctl":
        yield from _bent_settings(document.get("settings"), f"{path}.settings")
        for line in str(document.get("text") or "").splitlines():
            yield from _split_name(line.partition("=")[0].strip(), f"{path}.text")
    for list_of, name, bent in (
        ("Files", "files", _bent_file),
        ("Mirrors", "mirrors", _bent_mirror),
    ):
        for at, item in enumerate(_list_of(document.get(name)) if kind == list_of else ()):
            if isinstance(item, Mapping):
                yield from bent(item, f"{path}.{name}[{at}]")


def _bent_settings(settings: Json, path: str) -> Iterator[Complaint]:
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        yield from _split_name(str(name), f"{path}.{name}")
        if isinstance(value, bool):
            problem = f"found {str(value).lower()}, which is no value of a kernel setting"
            yield Complaint(f"{path}.{name}", problem, f"write {int(value)}")
        elif not isinstance(value, int | str) and value is not None:
            yield _no_text(value, f"{path}.{name}")
        elif value == "":
            yield Complaint(f"{path}.{name}", "found nothing, expected a value", "leave it out")


def _split_name(name: str, field: str) -> Iterator[Complaint]:
    """Say that the name of an interface with a dot in it would be two directories."""
    if found := _INTERFACE.fullmatch(name):
        start, interface, setting = found.groups()
        problem = f"names no setting of the interface {interface}: each dot is a directory"
        hint = f"write {start}.{interface.replace('.', '/')}.{setting}"
        yield Complaint(field, problem, hint, is_name=True)


def _bent_file(file: Mapping[str, Json], path: str) -> Iterator[Complaint]:
    mode = file.get("mode")
    if not is_empty(mode) and not isinstance(mode, str):
        hint = "write octal digits as text, like '0644'"
        if isinstance(mode, int) and not isinstance(mode, bool) and 0 <= mode <= LARGEST_MODE:
            hint += f"; {mode} in decimals is '{mode:04o}'"
        yield Complaint(f"{path}.mode", f"found {kind_of(mode)}, expected text", hint)
    for name in ("content", "contentBase64"):
        value = file.get(name)
        if not is_empty(value) and not isinstance(value, str):
            yield _no_text(value, f"{path}.{name}")
    if not is_empty(file.get("content")) and not is_empty(file.get("contentBase64")):
        problem = "cannot stand beside contentBase64"
        yield Complaint(f"{path}.content", problem, "write one of the two")


def _bent_mirror(mirror: Mapping[str, Json], path: str) -> Iterator[Complaint]:
    places = mirror.get("mirrors")
    if is_empty(places):
        problem = "found nothing, expected a list of mirrors"
        yield Complaint(f"{path}.mirrors", problem, "leave the registry out")
    for at, place in enumerate(_list_of(places)):
        if not isinstance(place, str):
            yield _no_text(place, f"{path}.mirrors[{at}]")


def _no_text(value: Json, field: str) -> Complaint:
    return Complaint(field, f"found {kind_of(value)}, expected text", quotes_hint(value))


def _list_of(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []
