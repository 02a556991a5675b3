"""`fairlead extension`: what Cluster API asks before it replaces machines, as a process in it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from fairlead.cli.commands.kube.needed import refuse_without_lightkube
from fairlead.cli.flags import add_form, describe_command

EXAMPLE = """\
example: beside an operator, from outside of the cluster
  fairlead extension --kubeconfig kubeconfig --certificate tls.crt --key tls.key

Cluster API asks it by an ExtensionConfig: deploy/kube/extension. Machines of a MachineDeployment
with the annotation fairlead.dev/in-place: only are changed in place, or not at all; why not, an
Event of the MachineDeployment says. The operator changes their nodes. Any number may serve.
"""

DEFAULT_LISTEN = "0.0.0.0:9443"


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of extension."""
    describe_command(parser, "Let Cluster API change machines in place.", EXAMPLE, _run)
    file = {"type": Path, "metavar": "FILE"}
    parser.add_argument("--kubeconfig", **file, help="default: the pod's account, or $KUBECONFIG")  # type: ignore[arg-type]
    parser.add_argument("--context", metavar="NAME", help="of the kubeconfig (default: its own)")
    parser.add_argument(
        "--listen",
        default=DEFAULT_LISTEN,
        metavar="HOST:PORT",
        help=f"where Cluster API comes (default: {DEFAULT_LISTEN})",
    )
    parser.add_argument("--certificate", **file, required=True, help="of that address, PEM")  # type: ignore[arg-type]
    parser.add_argument("--key", **file, required=True, help="of that certificate, PEM")  # type: ignore[arg-type]
    parser.add_argument("--metrics", metavar="HOST:PORT", help="serve /metrics, /healthz, /readyz")
    add_form(parser)


def _run(arguments: Namespace) -> int:
    refuse_without_lightkube("the extension")
    from fairlead.cli.commands.kube.extension_here import run_extension

    return run_extension(arguments)
