"""Flags that processes of a cluster share."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from functools import partial
from pathlib import Path

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def add_cluster_flags(parser: ArgumentParser) -> None:
    """Add the flags that say whom a process of a cluster follows."""
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="default: the pod's account, or $KUBECONFIG",
    )
    parser.add_argument("--context", metavar="NAME", help="of the kubeconfig (default: its own)")


def add_pools_flag(parser: ArgumentParser) -> None:
    """Add the flag that keeps a process of a cluster to some namespaces."""
    parser.add_argument(
        "--pools-in",
        action="append",
        default=[],
        type=_namespace,
        metavar="NAMESPACE",
        help="look after pools of this namespace and no others; may be given again (default: all)",
    )


def follows(server: str, pools_in: Sequence[str]) -> str:
    """Return what a process follows, in words."""
    return f"{server}, pools in {', '.join(pools_in)}" if pools_in else server


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise ArgumentTypeError(f"found {text!r}, expected the name of a namespace")
    return text


def add_metrics_flag(parser: ArgumentParser) -> None:
    """Add the flag that says where a process tells of itself."""
    parser.add_argument("--metrics", metavar="HOST:PORT", help="serve /metrics, /healthz, /readyz")


def add_serving_flags(parser: ArgumentParser, listen: str, who_comes: str) -> None:
    """Add the flags of a process that serves over TLS. listen: where, unless it is said."""
    parser.add_argument(
        "--listen",
        default=listen,
        metavar="HOST:PORT",
        help=f"where {who_comes} (default: {listen})",
    )
    add_file = partial(parser.add_argument, type=Path, metavar="FILE", required=True)
    add_file("--certificate", help="of that address, PEM")
    add_file("--key", help="of that certificate, PEM")
    add_metrics_flag(parser)
