"""`fairlead payload`: what machines of a cluster fetch and report to, as a process in it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.commands.kube.flags import add_cluster_flags, add_pools_flag, add_serving_flags
from fairlead.cli.commands.kube.needed import refuse_without_lightkube
from fairlead.cli.flags import add_form, describe_command

EXAMPLE = """\
example: beside an operator, from outside of the cluster
  fairlead payload --kubeconfig kubeconfig --certificate tls.crt --key tls.key

Any number may serve behind one address: what one is told, all know, since it is kept in the
cluster. A certificate that is renewed in its file is served from the next connection on. SIGTERM
lets answers under way end.
"""

DEFAULT_LISTEN = "0.0.0.0:8443"


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of payload."""
    describe_command(parser, "Serve machines of a cluster.", EXAMPLE, _run)
    add_cluster_flags(parser)
    add_pools_flag(parser)
    add_serving_flags(parser, DEFAULT_LISTEN, "machines come")
    add_form(parser)


def _run(arguments: Namespace) -> int:
    refuse_without_lightkube("the payload service")
    from fairlead.cli.commands.kube.payload_here import run_payload

    return run_payload(arguments)
