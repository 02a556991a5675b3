"""Flags that processes of a cluster share."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from pathlib import Path


def add_cluster_flags(parser: ArgumentParser) -> None:
    """Add the flags that say whom a process of a cluster follows."""
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="default: the pod's account, or $KUBECONFIG",
    )
    parser.add_argument("--context", metavar="NAME", help="of the kubeconfig (default: its own)")


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
