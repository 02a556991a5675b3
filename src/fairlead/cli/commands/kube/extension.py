"""`fairlead extension`: what Cluster API asks before it replaces machines, as a process in it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.commands.kube.flags import add_cluster_flags, add_serving_flags
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
    add_cluster_flags(parser)
    add_serving_flags(parser, DEFAULT_LISTEN, "Cluster API comes")
    add_form(parser)


def _run(arguments: Namespace) -> int:
    refuse_without_lightkube("the extension")
    from fairlead.cli.commands.kube.extension_here import run_extension

    return run_extension(arguments)
