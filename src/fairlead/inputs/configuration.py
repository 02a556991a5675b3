"""
Configuration documents in canonical form: one leaf per kubelet field, setting, file or mirror.

Nothing is filled in: a file without a mode has none here, and the renderer gives it one. Comments,
white space, the order of names and of documents, and nil against empty leave no trace; only in a
KubeletConfiguration what is empty was written, since a kubelet tells it from what is not set.
The bytes of a file do matter, comments in it included: a machine sees them.
"""

import binascii
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache

from fairlead.contract.canonical import canonical_bytes
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.inputs.shape import is_empty, kind_of, mapping_of, pruned, without_nil
from fairlead.inputs.spelled import Spelled

_MODE = re.compile(r"0?[0-7]{3,4}", re.ASCII)
_HEADER = ("apiVersion", "kind", "metadata")
_OTHER_SEPARATOR = str.maketrans("./", "/.")

FILES = "config.files."
KUBELET = "config.kubelet."
SYSCTL = "config.sysctl."


def configuration_leaves(documents: Json, path: str) -> dict[str, Json]:
    """
    Return the leaves of a list of configuration documents. Raises InputError by field.

    Saying the same thing twice is fine; saying two things about one leaf is an error, since
    which of them wins would depend on order.
    """
    if not isinstance(documents, list | tuple):
        raise InputError(f"found {kind_of(documents)}, expected a list of documents", field=path)
    found: dict[str, Json] = {}
    for at, document in enumerate(documents):
        spelled = Spelled(document)
        read = _known_leaves if spelled.is_kept else _document_leaves
        for leaf, value in read(spelled, f"{path}[{at}]").items():
            if leaf in found and canonical_bytes(found[leaf]) != canonical_bytes(value):
                raise InputError(f"{leaf} is set twice, to different values", field=f"{path}[{at}]")
            found[leaf] = value
    return found


# Most documents are the same as in the last pass; full, it holds about 40 MB.
@lru_cache(maxsize=1 << 14)
def _known_leaves(spelled: Spelled, path: str) -> Mapping[str, Json]:
    return _document_leaves(spelled, path)


def _document_leaves(spelled: Spelled, path: str) -> Mapping[str, Json]:
    document = spelled.value
    if is_empty(document):
        return {}
    if not isinstance(document, Mapping):
        raise InputError(f"found {kind_of(document)}, expected a mapping", field=path)
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(
            f"found {kind_of(kind)}, expected a known kind",
            field=f"{path}.kind",
            hint="known: " + ", ".join(KINDS),
        )
    body = {name: value for name, value in document.items() if name not in _HEADER}
    try:
        canonical_bytes(body)
    except InputError as error:
        raise InputError(error.problem, field=f"{path}.{error.field}".rstrip(".")) from error
    leaves = KINDS[str(kind)](body, path)
    return {
        leaf: value
        for leaf, value in leaves.items()
        if not is_empty(value) or (leaf.startswith(KUBELET) and value is not None)
    }


def _kubelet(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    del path
    return {f"{KUBELET}{name}": without_nil(value) for name, value in body.items()}


def _containerd(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    fields = mapping_of(body, path, ("settings", "toml"))
    settings = fields.get("settings", {})
    if "toml" in fields:
        settings = _toml(fields["toml"], f"{path}.toml")
    if not isinstance(settings, Mapping):
        problem = f"found {kind_of(settings)}, expected a mapping"
        raise InputError(problem, field=f"{path}.settings")
    return {f"config.containerd.{name}": pruned(value) for name, value in settings.items()}


def _toml(text: Json, path: str) -> Mapping[str, Json]:
    if not isinstance(text, str):
        raise InputError(f"found {kind_of(text)}, expected TOML text", field=path)
    try:
        found = tomllib.loads(text)
        canonical_bytes(found)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", field=path) from error
    except InputError as error:  # TOML has dates and infinities
        raise InputError(f"{error.field}: {error.problem}", field=path) from error
    return found


def _sysctl(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    fields = mapping_of(body, path, ("settings", "text"))
    settings = fields.get("settings", {})
    if "text" in fields:
        settings = _settings_of(fields["text"], f"{path}.text")
    if not isinstance(settings, Mapping):
        problem = f"found {kind_of(settings)}, expected a mapping"
        raise InputError(problem, field=f"{path}.settings")
    return {
        f"{SYSCTL}{setting_name(str(name))}": " ".join(str(value).split())
        for name, value in settings.items()
        if not is_empty(value)
    }


def setting_name(name: str) -> str:
    """
    Return the one spelling of a kernel setting, as sysctl(8) reads both of them.

    What separates first separates everywhere, and the other of the two belongs to a name:
    net/ipv4/conf/eth0.100/rp_filter is net.ipv4.conf.eth0/100.rp_filter.
    """
    first = next((letter for letter in name if letter in "./"), ".")
    return name.translate(_OTHER_SEPARATOR) if first == "/" else name


def _settings_of(text: Json, path: str) -> Mapping[str, Json]:
    found: dict[str, Json] = {}
    for number, line in enumerate(str(text).splitlines(), start=1):
        content = line.strip()
        if not content or content[0] in "#;":
            continue
        name, equals, value = content.partition("=")
        if not equals:
            raise InputError(f"line {number} is not NAME = VALUE", field=path)
        found[name.strip()] = value.strip()
    return found


def _files(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    fields = mapping_of(body, path, ("files",))
    found: dict[str, Json] = {}
    for at, item in enumerate(_list_of(fields.get("files", []), f"{path}.files")):
        where = f"{path}.files[{at}]"
        file = mapping_of(item, where, ("path", "content", "contentBase64", "mode"))
        name = file.get("path")
        if not isinstance(name, str) or not name.startswith("/") or ".." in name.split("/"):
            raise InputError(f"found {kind_of(name)}, expected a whole path", field=f"{where}.path")
        found[FILES + name] = _file_of(file, where)
    return found


def _file_of(file: Mapping[str, Json], path: str) -> Json:
    content = file.get("contentBase64")
    if content is None:
        text = str(file.get("content", ""))
        content = binascii.b2a_base64(text.encode(), newline=False).decode()
    else:
        _refuse_base64(content, f"{path}.contentBase64")
    if "mode" not in file:
        return {"contentBase64": content}
    mode = str(file["mode"])
    if not _MODE.fullmatch(mode):
        raise InputError(f"{mode!r} is not a mode like 0644", field=f"{path}.mode")
    return {"contentBase64": content, "mode": mode.zfill(4)}


def _refuse_base64(content: Json, path: str) -> None:
    try:
        binascii.a2b_base64(str(content), strict_mode=True)
    except ValueError as error:  # binascii's own, or a character that is not ASCII
        raise InputError(f"is not base64: {error}", field=path) from error


def _mirrors(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    fields = mapping_of(body, path, ("mirrors",))
    found: dict[str, Json] = {}
    for at, item in enumerate(_list_of(fields.get("mirrors", []), f"{path}.mirrors")):
        where = f"{path}.mirrors[{at}]"
        mirror = mapping_of(item, where, ("source", "mirrors"))
        source = mirror.get("source")
        if not isinstance(source, str):
            raise InputError(f"found {kind_of(source)}, expected text", field=f"{where}.source")
        places = _list_of(mirror.get("mirrors", []), f"{where}.mirrors")
        found[f"config.mirrors.{source}"] = [str(place) for place in places]
    return found


def _list_of(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list | tuple):
        raise InputError(f"found {kind_of(value)}, expected a list", field=path)
    return list(value)


KINDS: Mapping[str, Callable[[Mapping[str, Json], str], dict[str, Json]]] = {
    "KubeletConfiguration": _kubelet,
    "ContainerdConfiguration": _containerd,
    "Sysctl": _sysctl,
    "Files": _files,
    "Mirrors": _mirrors,
}
