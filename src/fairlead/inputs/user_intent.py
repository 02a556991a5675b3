"""
What the pool's owner wrote, and only that. A change of any leaf here replaces machines.

Not set stays not set: a value that we fill in is a row of defaults.py, and an input of the platform
if it reaches a machine, since a changed default of ours would otherwise roll every fleet.
"""

from dataclasses import dataclass

from fairlead.answers.words import LeafClass
from fairlead.inputs.leaf import Leaf, Leaves, Shape
from fairlead.inputs.shape import (
    ADDRESS,
    ANY,
    BASE,
    COUNT,
    DIGEST,
    ENDPOINT,
    FLAG,
    IMAGE,
    PROXY,
    STREAM,
    TEXT,
    TEXT_SET,
    VERSION,
    one_of,
)


def _intent(path: str, shape: Shape, says: str) -> Leaf:
    return Leaf(path=path, leaf_class=LeafClass.INTENT, shape=shape, says=says)


# Paths are those of the NodePool document below `spec`.
INTENT_LEAVES = (
    _intent("release.version", VERSION, "Kubernetes version"),
    _intent("release.digest", DIGEST, "digest that the version resolved to; a rebuild is a change"),
    _intent("imageBase", BASE, "base of the machine image"),
    _intent("osStream", STREAM, "operating system stream, if not the default of the version"),
    _intent("config.kubelet.*", ANY, "one field of the kubelet configuration"),
    _intent("config.containerd.*", ANY, "one section of the containerd configuration"),
    _intent("config.sysctl.*", TEXT, "one kernel setting"),
    _intent("config.files.*", ANY, "one file"),
    _intent("config.mirrors.*", ANY, "mirrors of one registry, in the order they are tried"),
    _intent("pullSecret.name", TEXT, "name of the pull secret"),
    _intent("trustBundle.name", TEXT, "name of the trust bundle"),
    _intent("proxy.http", PROXY, "HTTP proxy"),
    _intent("proxy.https", PROXY, "HTTPS proxy"),
    _intent("proxy.noProxy", TEXT_SET, "addresses reached directly, as the owner listed them"),
    _intent("imagePolicy.*", ANY, "one image policy"),
    _intent("tlsProfile", ANY, "TLS profile"),
    _intent("sshKeys", TEXT_SET, "keys that may log in"),
    _intent("fips", FLAG, "FIPS mode"),
    _intent("endpoint.access", one_of("Public", "Private", "PublicAndPrivate"), "endpoint access"),
    _intent("endpoint.port", COUNT, "port of the API server"),
    _intent("endpoint.advertiseAddress", ADDRESS, "address the API server is advertised at"),
    _intent("endpoint.name", ENDPOINT, "own name of the API server"),
    _intent("machineTemplate.*", ANY, "one machine-template field"),
    _intent("proxyImage", IMAGE, "this pool's own data-plane proxy image"),
)


@dataclass(frozen=True, slots=True)
class UserIntent:
    """The owner's half of the inputs: leaves by path."""

    leaves: Leaves
