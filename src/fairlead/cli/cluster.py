"""
A cluster instead of the control plane of this computer: --kube, and what says which one.

As kubectl has them: KUBECONFIG or ~/.kube/config, --kubeconfig, --context, -n; a command without a
meaning there is refused, with what to use instead.
"""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path

from fairlead.cli.output import ASKED
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.answering.questions import Questions
    from fairlead.kube.client import KubeClient
    from fairlead.kube.front.scope import Scope

KUBE = "--kube"
HOME = "fairlead-system"
NAMESPACE = "default"

# Flags that may stand before a command as well as behind it, and how many words each takes along.
ANYWHERE = {
    KUBE: 0,
    "--kubeconfig": 1,
    "--context": 1,
    "--namespace": 1,
    "-n": 1,
    "-A": 0,
    "--all-namespaces": 0,
    "--operator-namespace": 1,
}

_DEPOT = "fixes are published in a depot: leave out --kube and name it with --depot"
_DEPOT_COMMANDS = (
    *("build", "publish", "promote", "withdraw", "retire", "token"),
    *("bases add", "bases remove", "region on", "region off"),
)

# The first words of commands that say nothing about a cluster, and what to use there.
ELSEWHERE = {
    "up": "kubectl apply --server-side -k deploy/kube installs the operator",
    "down": "kubectl delete -k deploy/kube removes the operator; machines run on",
    "operator": "leave out --kube: the operator has --kubeconfig and --context of its own",
    "payload": "leave out --kube: the payload service has --kubeconfig and --context of its own",
    "extension": "leave out --kube: the extension has --kubeconfig and --context of its own",
    "backup": "everything is in the cluster's etcd, and is backed up with it",
    "restore": "everything is in the cluster's etcd, and is restored with it",
    "certificates": "the payload service's certificate is the Secret fairlead-payload-tls",
    "logs": "what a machine reported is shown by timeline MACHINE; what else it printed is at its "
    "infrastructure provider, by the object that kubectl describe machine MACHINE names",
    "machine fault": "stop the machine at its infrastructure provider",
    **dict.fromkeys((f"hotfix {word}" for word in _DEPOT_COMMANDS), _DEPOT),
    "hotfix serve": "leave out --kube: a replica has --cluster-ledger and --kubeconfig of its own",
    "keys": "keys are files: leave out --kube",
    "userdata": "it works on files: leave out --kube",
    "schema": "kubectl explain nodepools shows the same; or leave out --kube",
    "completion": "it is the same for both: leave out --kube",
    "timeline show": "it draws files: leave out --kube",
    "timeline compare": "it compares files: leave out --kube",
}


def add_cluster_flags(parser: ArgumentParser) -> None:
    """Add what names a cluster."""
    cluster = parser.add_argument_group("on a cluster")
    cluster.add_argument(
        KUBE, action="store_true", help="ask a cluster, and not a control plane of this computer"
    )
    cluster.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="default: $KUBECONFIG, or ~/.kube/config"
    )
    cluster.add_argument(
        "--context", metavar="CONTEXT", help="of the kubeconfig (default: its own)"
    )
    cluster.add_argument(
        "-n", "--namespace", metavar="NAMESPACE", help="of the pools (default: the context's)"
    )
    cluster.add_argument(
        "-A", "--all-namespaces", action="store_true", help="pools of every namespace"
    )
    cluster.add_argument(
        "--operator-namespace",
        metavar="NAMESPACE",
        help=f"where the platform's document is (default: {HOME})",
    )


def refuse_elsewhere(words: Sequence[str]) -> None:
    """Raise InputError for a command that has no meaning on a cluster, if one is asked for."""
    # The line that a shell completes stands behind --names, and is not this command's.
    ends = [words.index(word) for word in ("--", "--names") if word in words]
    if KUBE not in words[: min(ends, default=len(words))]:
        return
    for known, instead in ELSEWHERE.items():
        if list(words[: len(known.split())]) == known.split():
            raise InputError(f"{known} says nothing about a cluster", field=KUBE, hint=instead)


def cluster_named(arguments: Namespace) -> bool:
    """Say whether a cluster is asked. Raises InputError if one is named and not asked for."""
    if getattr(arguments, "kube", False):
        if arguments.state:
            raise InputError(f"expected {KUBE} or --state", hint="they name two control planes")
        return True
    named = [
        flag
        for flag, name in (
            ("--kubeconfig", "kubeconfig"),
            ("--context", "context"),
            ("--namespace", "namespace"),
            ("--all-namespaces", "all_namespaces"),
            ("--operator-namespace", "operator_namespace"),
        )
        if getattr(arguments, name, None)
    ]
    if named:
        raise InputError(f"{named[0]} names a part of a cluster", hint=f"say {KUBE} as well")
    return False


def refuse_without_lightkube() -> None:
    """Raise InputError where nothing is installed that talks to a cluster."""
    if find_spec("lightkube") is None:
        raise InputError(
            "lightkube is not installed, which talking to a cluster needs",
            field=KUBE,
            hint="pip install 'fairlead[kube]'",
        )


def cluster_of(arguments: Namespace) -> Questions:
    """Return the control plane of the cluster that the flags name."""
    refuse_without_lightkube()
    from fairlead.kube.front.plane import KubePlane

    client, scope = scope_of(arguments)
    ASKED.set(typed_program(arguments))
    return KubePlane(client, scope, ASKED.get())


def scope_of(arguments: Namespace) -> tuple[KubeClient, Scope]:
    """Return the way to the cluster that the flags name, and the part of it that they mean."""
    from fairlead.kube.client import connect
    from fairlead.kube.front.scope import Scope

    client = connect(arguments.kubeconfig or _usual_file(), arguments.context)
    scope = Scope(
        namespace=arguments.namespace or client.namespace or NAMESPACE,
        home=arguments.operator_namespace or HOME,
        is_all=arguments.all_namespaces,
    )
    return client, scope


def typed_program(arguments: Namespace) -> str:
    """Return what a command begins with that asks the same part of the same cluster again."""
    words = ["fairlead", KUBE]
    for flag in ("--kubeconfig", "--context", "--namespace", "--operator-namespace"):
        if given := getattr(arguments, flag.removeprefix("--").replace("-", "_")):
            words += ["-n" if flag == "--namespace" else flag, str(given)]
    return shlex.join([*words, *(["-A"] if arguments.all_namespaces else [])])


def _usual_file() -> Path | None:
    """Return the kubeconfig that kubectl would take, or None: then it is the pod's account."""
    named = [Path(text) for text in os.environ.get("KUBECONFIG", "").split(os.pathsep) if text]
    usual = Path("~/.kube/config").expanduser()
    found = next((path for path in named if path.exists()), named[0] if named else usual)
    return found if named or found.exists() else None
