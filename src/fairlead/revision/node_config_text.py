"""
The leaves of a revision as the node config that its machines are given.

It holds no secret and nothing of a single machine: labels, taints and join credentials are added
by whoever serves it. Leaves without a place in the contract travel under `fairlead`, which
agents that do not know it ignore. A change of what equal leaves render to is a platform change:
raise CODE_DEFAULTS["renderer"] with it.
"""

from collections.abc import Mapping

from fairlead.answers.words import LeafClass
from fairlead.contract.json_text import encode_json
from fairlead.contract.node_parse import parse_node_config, proto_name_of
from fairlead.contract.node_settings import KUBELET, problems_of
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Leaves
from fairlead.inputs.registry import class_of
from fairlead.inputs.remembered import Remembered
from fairlead.revision.spelling import whole_value

# leaf: where its value goes, as it is.
PLACES: Mapping[str, tuple[str, ...]] = {
    "release.version": ("kubernetes_version",),
    "machineTemplate.vmSize": ("vm_size",),
    "proxy.http": ("http_proxy_config", "http_proxy"),
    "proxy.https": ("http_proxy_config", "https_proxy"),
    "platform.cloudConfig": ("fairlead", "cloudConfig"),
}

KUBELET_MESSAGE = "KubeletConfigFileConfig"
KUBELET_PLACE = ("kubelet_config", "kubelet_config_file_config")

# The addresses that bypass the proxy: the owner's and ours.
NO_PROXY = ("proxy.noProxy", "platform.noProxy", "platform.regionDomains")

# The first one that is set names the API server.
API_SERVER = ("endpoint.name", "endpoint.advertiseAddress", "platform.loadBalancerAddress")

# The owner's own image wins over the fleet's.
PROXY_IMAGE = ("proxyImage", "platform.proxy.image")

_MERGED = (*NO_PROXY, *API_SERVER, *PROXY_IMAGE, "platform.metadataAddress")

# Characters of leaves and of what they render to: some 3,000 pools of a few files. A pool that
# holds a platform change is rendered by everybody who looks at it: by the change that is shown,
# by the pass that follows, by every list.
MOST_TEXT = 8 << 20
# One that takes more would put a hundred others out.
LARGEST_KEPT = MOST_TEXT >> 7

_RENDERED: Remembered[str] = Remembered(MOST_TEXT)


def render_node_config(leaves: Leaves) -> str:
    """Return the node config as text. Raises InputError by leaf if the contract refuses it."""
    spelled = repr(leaves)
    if (known := _RENDERED.find(spelled)) is not None:
        return known
    text = _render(leaves)
    if len(spelled) <= LARGEST_KEPT:
        _RENDERED.keep(spelled, text, len(text))
    return text


def _render(leaves: Leaves) -> str:
    document: dict[str, Json] = {"version": "v1"}
    for path in sorted(leaves):
        if class_of(path) is LeafClass.CONTENT:
            continue  # a digest that no machine needs
        if path in PLACES:
            _put(document, PLACES[path], leaves[path])
        elif path not in _MERGED:
            _put(document, ("fairlead", path), whole_value(path, leaves[path], leaves))
        # What the contract has a field for stands there as well: bootstrap scripts read no other.
        name = path.removeprefix(KUBELET)
        if name != path and proto_name_of(KUBELET_MESSAGE, name):
            _put(document, (*KUBELET_PLACE, name), leaves[path])
    _merge(document, leaves)
    text = encode_json(document, indent=2, ascii_only=False) + "\n"
    parsed = parse_node_config(text.encode())
    for problem in parsed.problems:
        raise InputError(problem.problem, field=problem.path)
    for error in problems_of(parsed.config):
        raise error
    return text


def _merge(document: dict[str, Json], leaves: Leaves) -> None:
    if name := _first_of(API_SERVER, leaves):
        _put(document, ("api_server_config", "api_server_name"), name)
    if image := _first_of(PROXY_IMAGE, leaves):
        _put(document, ("kube_proxy_url",), image)
    if "proxy.http" not in leaves and "proxy.https" not in leaves:
        return
    entries = {str(entry) for path in NO_PROXY for entry in _texts_of(leaves.get(path))}
    if address := leaves.get("platform.metadataAddress"):
        entries.add(str(address))
    if entries:
        _put(document, ("http_proxy_config", "no_proxy_entries"), sorted(entries))


def _first_of(paths: tuple[str, ...], leaves: Leaves) -> str:
    return next((str(leaves[path]) for path in paths if leaves.get(path)), "")


def _texts_of(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _put(document: dict[str, Json], place: tuple[str, ...], value: Json) -> None:
    for name in place[:-1]:
        inner = document.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InputError("is set twice", field=".".join(place))
        document = inner
    document[place[-1]] = value
