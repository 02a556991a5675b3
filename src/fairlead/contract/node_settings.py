"""
What a pool's owner set that the AKS contract has no field for: the `fairlead` object.

Its names are flat and hold dots of their own: `config.files./etc/motd`. A prefix says what a name
is about, the rest is a path, a kernel setting, a registry or a section. Names without a known
prefix describe the pool and are nothing that a machine applies. Values are judged here, by
whoever is about to use them, and not by the parser.
"""

from __future__ import annotations

import binascii

from fairlead.contract.node_receipt import shown_name
from fairlead.contract.node_secrets import PULL_SECRET
from fairlead.contract.toml_text import render_toml
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.contract.node_config import NodeConfig

NAME = "fairlead"

FILES = "config.files."
SYSCTL = "config.sysctl."
MIRRORS = "config.mirrors."
CONTAINERD = "config.containerd."
KUBELET = "config.kubelet."
OVERRIDES = "platform.registryOverrides."
SSH_KEYS = "sshKeys"
APPLIED = (FILES, SYSCTL, MIRRORS, CONTAINERD, KUBELET, OVERRIDES)
APPLIED_WHOLE = (SSH_KEYS, PULL_SECRET)

# Fields of KubeletConfiguration that are ours alone: with another value the node does not join,
# or nobody hears that it did.
KUBELET_OURS = {
    "apiVersion": "the file is written for one API",
    "kind": "the file is written for one API",
    "containerRuntimeEndpoint": "the kubelet must find the containerd of this machine",
    "healthzBindAddress": "the agent asks there whether the kubelet is well",
    "healthzPort": "the agent asks there whether the kubelet is well",
    "registerNode": "a machine of a pool is a node of its cluster",
}

# The API that the kubelet's file is written for.
KUBELET_API = "kubelet.config.k8s.io/v1beta1"

DEFAULT_MODE = "0644"
OCTAL = "01234567"
MODE_LENGTHS = (3, 4)

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
BASE64 = LETTERS + DIGITS + "+/"
BASE64_BLOCK = 4
# A slash is a dot in a name, as sysctl(8) has it: net.ipv4.conf.eth0/100.rp_filter.
SETTING_CHARACTERS = LETTERS + DIGITS + "._-/"
# A host name or an address, and a port.
REGISTRY_CHARACTERS = LETTERS + DIGITS + ".-_:[]"
LONGEST_REGISTRY = 255

SCHEMES = ("https://", "http://")


class PoolFile:
    """One file of a machine, as the pool's owner wants it."""

    __slots__ = ("content", "field", "mode", "path")

    def __init__(self, path: str, content: bytes, mode: int, field: str) -> None:
        self.path = path
        self.content = content
        self.mode = mode
        self.field = field


def is_applied(name: str) -> bool:
    """Say whether an agent with built-in steps applies a setting of this name."""
    return name.startswith(APPLIED) or name in APPLIED_WHOLE


def files_of(config: NodeConfig) -> list[PoolFile]:
    """Return the files, by path. Raises InputError that names the setting."""
    return [_file_of(path, value, field) for path, value, field in _below(config, FILES)]


def sysctls_of(config: NodeConfig) -> dict[str, str]:
    """Return the kernel settings with their values. Raises InputError that names the setting."""
    settings = {}
    for name, value, field in _below(config, SYSCTL):
        is_dots = any(part and not part.strip("/") for part in name.split("."))
        if not name or name.strip(SETTING_CHARACTERS) or not name[0].isalnum() or is_dots:
            raise InputError(
                "not the name of one kernel setting",
                field=field,
                hint="expected net.core.somaxconn",
            )
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise InputError("expected one line of text", field=field)
        settings[name] = " ".join(value.split())
    return settings


def mirrors_of(config: NodeConfig) -> dict[str, list[str]]:
    """Return the addresses to try for each registry, in order. Raises InputError by setting."""
    mirrors = {}
    for source, value, field in _below(config, MIRRORS):
        _require_registry(source, field)
        if not isinstance(value, list):
            raise InputError("expected a list of addresses", field=field)
        mirrors[source] = [_address_of(item, field) for item in value]
    return mirrors


def override_of(source: str, value: object) -> str:
    """Return the address that a registry is read from instead. Raises InputError by setting."""
    field = f"{NAME}[{shown_name(OVERRIDES + source)}]"
    _require_registry(source, field)
    return _address_of(value, field)


def overrides_in(config: NodeConfig) -> dict[str, object]:
    """Return what the platform reads instead of each registry, as it was written."""
    return {source: value for source, value, _ in _below(config, OVERRIDES)}


def usable_overrides(config: NodeConfig) -> tuple[dict[str, str], list[str]]:
    """
    Return what the platform reads instead of each registry, and why some are left out.

    One that cannot be used is the platform's mistake in every pool: no boot stops for it.
    """
    overrides, problems = {}, []
    for source, value in overrides_in(config).items():
        try:
            overrides[source] = override_of(source, value)
        except InputError as error:
            problems.append(str(error))
    return overrides, problems


def containerd_of(config: NodeConfig) -> dict[str, object]:
    """Return the sections of containerd's config. Raises InputError that names the section."""
    sections = {}
    for name, value, field in _below(config, CONTAINERD):
        try:
            render_toml({name: value})
        except InputError as error:
            raise InputError(error.problem, field=field) from error
        sections[name] = value
    return sections


def kubelet_of(config: NodeConfig) -> dict[str, object]:
    """Return the fields of the owner's KubeletConfiguration, as they were written."""
    return {name: value for name, value, _ in _below(config, KUBELET)}


def ssh_keys_of(config: NodeConfig) -> list[str]:
    """Return the keys that may log in, one line each. Raises InputError."""
    value = config.settings.get(SSH_KEYS, [])
    if not isinstance(value, list):
        raise InputError("expected a list of keys", field=f"{NAME}[{SSH_KEYS}]")
    for item in value:
        if not isinstance(item, str) or len(item.split()) < 2 or not item.isprintable():  # noqa: PLR2004 - kind and key
            raise InputError(
                "expected keys as a line of authorized_keys has them",
                field=f"{NAME}[{SSH_KEYS}]",
                hint="ssh-ed25519 AAAA... [comment]",
            )
    return [str(item).strip() for item in value]


def pull_secret_of(config: NodeConfig) -> dict[str, object]:
    """Return the pull secret as the object of a Docker config file, {} without one."""
    value = config.settings.get(PULL_SECRET, {})
    if not isinstance(value, dict) or (value and not isinstance(value.get("auths"), dict)):
        raise InputError(
            "not the object of a Docker config file",
            field=f"{NAME}[{PULL_SECRET}]",
            hint='expected {"auths": {REGISTRY: {"auth": ...}}}',
        )
    return value


def problems_of(config: NodeConfig) -> Iterator[InputError]:
    """List the first problem of every kind of setting."""
    for read in (files_of, sysctls_of, mirrors_of, containerd_of):
        try:
            read(config)
        except InputError as error:
            yield error


def _below(config: NodeConfig, prefix: str) -> list[tuple[str, object, str]]:
    return [
        (name[len(prefix) :], config.settings[name], f"{NAME}[{shown_name(name)}]")
        for name in sorted(config.settings)
        if name.startswith(prefix)
    ]


def _require_registry(source: str, field: str) -> None:
    is_host = source and len(source) <= LONGEST_REGISTRY and source.strip(".")
    if not is_host or source.strip(REGISTRY_CHARACTERS):
        raise InputError(
            "not a registry", field=field, hint="expected HOST or HOST:PORT, without a path"
        )


def _file_of(path: str, value: object, field: str) -> PoolFile:
    first, *parts = path.split("/")
    if first or not parts or any(part in ("", ".", "..") for part in parts):
        raise InputError("not a whole path", field=field, hint="expected /DIRECTORY/NAME")
    if not path.isprintable():
        raise InputError("holds a character that is not printable", field=field)
    if not isinstance(value, dict):
        raise InputError("expected an object with contentBase64 and mode", field=field)
    mode = value.get("mode", DEFAULT_MODE)
    if not isinstance(mode, str) or mode.strip(OCTAL) or len(mode) not in MODE_LENGTHS:
        raise InputError("expected a mode like 0644", field=field)
    return PoolFile(path, _content_of(value.get("contentBase64"), field), int(mode, 8), field)


def _content_of(content: object, field: str) -> bytes:
    if isinstance(content, str) and len(content) % BASE64_BLOCK == 0:
        digits = content.removesuffix("=").removesuffix("=")
        if not digits.strip(BASE64):
            return binascii.a2b_base64(content)
    raise InputError("expected the content in base64", field=field)


def _address_of(item: object, field: str) -> str:
    if not isinstance(item, str) or not item.isprintable() or not item.isascii() or " " in item:
        raise InputError("expected addresses in plain ASCII", field=field)
    address = item if "://" in item else SCHEMES[0] + item
    scheme, separator, rest = address.partition("://")
    if scheme + separator not in SCHEMES or not rest.partition("/")[0] or "\\" in rest:
        raise InputError("expected [https://]HOST[:PORT][/PATH]", field=field)
    return address.rstrip("/")
