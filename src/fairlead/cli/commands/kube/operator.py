"""`fairlead operator`: the control plane of a cluster, as a process in it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from fairlead.cli.commands.kube.flags import add_cluster_flags, add_metrics_flag, add_pools_flag
from fairlead.cli.commands.kube.needed import refuse_without_lightkube
from fairlead.cli.flags import add_form, describe_command
from fairlead.errors import InputError

EXAMPLE = """\
example: an operator for a cluster, from outside of it
  fairlead operator --kubeconfig kubeconfig --namespace fairlead-system --metrics 127.0.0.1:8080

with payloads, which need a certificate:
  --payload-listen 0.0.0.0:8443 --payload-address https://payload.example.test:8443
  --payload-certificate tls.crt --payload-key tls.key --payload-ca ca.crt

Several may run: one acts. `fairlead payload` serves payloads alone. SIGTERM lets the passes under
way end and hands over at once. docs/howto/run-on-kubernetes.md installs it in the cluster.
"""

WORKERS = 2
MOST_WORKERS = 64


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of operator."""
    describe_command(parser, "Run the control plane of a cluster.", EXAMPLE, _run)
    file = {"type": Path, "metavar": "FILE"}
    add_cluster_flags(parser)
    parser.add_argument("--namespace", metavar="NAME", help="of the operator itself: its lease")
    add_pools_flag(parser)
    parser.add_argument(
        "--identity", metavar="NAME", help="among operators; no two may have one (default: drawn)"
    )
    parser.add_argument("--workers", type=int, default=WORKERS, metavar="N", help="passes at once")
    add_metrics_flag(parser)
    parser.add_argument(
        "--payload-address",
        default="",
        metavar="URL",
        help="where machines reach the payload service, unless the platform says otherwise",
    )
    parser.add_argument("--payload-listen", metavar="HOST:PORT", help="serve payloads here")
    parser.add_argument("--payload-certificate", **file, help="of the payload service, PEM")  # type: ignore[arg-type]
    parser.add_argument("--payload-key", **file, help="of that certificate, PEM")  # type: ignore[arg-type]
    parser.add_argument("--payload-ca", **file, help="what machines trust it by, PEM")  # type: ignore[arg-type]
    parser.add_argument(
        "--in-place-image",
        default="",
        metavar="IMAGE",
        help="of the pods that change nodes of InPlace pools; none is changed without it",
    )
    _add_hotfix_flags(parser)
    add_form(parser)


def _add_hotfix_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--hotfix-depot",
        type=Path,
        metavar="DIR",
        help="where the catalog of published hotfixes is, or will be",
    )
    parser.add_argument(
        "--hotfix-region",
        default="local",
        metavar="REGION",
        help="where this cluster's machines are, as the catalog calls it (default: local)",
    )


def _run(arguments: Namespace) -> int:
    refuse_without_lightkube("the operator")
    if not 1 <= arguments.workers <= MOST_WORKERS:
        raise InputError(f"found --workers {arguments.workers}, expected 1 to {MOST_WORKERS}")
    from fairlead.cli.commands.kube.operator_here import run_operator

    return run_operator(arguments)
