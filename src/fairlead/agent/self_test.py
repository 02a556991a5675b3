"""
Prove that this agent can work on this machine, before a boot depends on it.

Runs what a boot needs, on data of its own: import every module, read a config, compute an
environment, write a file whole, start a program. Touches nothing outside the record's folder.
"""

from __future__ import annotations

from fairlead.agent.files import directory_of, remove_if_present, write_atomically
from fairlead.errors import InvariantError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run

SAMPLE = b'{"version": "v1", "kubernetesVersion": "1.34.0", "future": true}'
PROBE = ".self-test"


def prove_agent(run: Run) -> str:
    """Return `ok` and what was proven, a line each. Raises what did not work."""
    lines = [_prove_contract(), _prove_environment(), _prove_disk(run), _prove_programs(run)]
    return "".join(f"ok {line}\n" for line in lines)


def _prove_contract() -> str:
    from fairlead.contract.node_parse import parse_node_config

    parsed = parse_node_config(SAMPLE)
    if parsed.problems or parsed.config.text("kubernetes_version") != "1.34.0":
        raise InvariantError("the sample node config was not understood")
    return "reads a node config"


def _prove_environment() -> str:
    import fairlead.agent.boot  # noqa: F401 - every stage must import
    import fairlead.agent.stages.built_in  # noqa: F401
    from fairlead.agent.aks.components import Components
    from fairlead.agent.aks.environment import environment_of
    from fairlead.contract.node_parse import parse_node_config

    variables = environment_of(parse_node_config(SAMPLE).config, Components(), "")
    if variables.get("KUBERNETES_VERSION") != "1.34.0":
        raise InvariantError("the sample environment lacks its Kubernetes version")
    return f"computes {len(variables)} variables"


def _prove_disk(run: Run) -> str:
    path = f"{directory_of(run.layout.record)}/{PROBE}"
    write_atomically(run.host, path, b"whole", 0o600)
    content = run.host.read_file(path)
    remove_if_present(run.host, path)
    if content != b"whole":
        raise InvariantError(f"{path} was written and read back differently")
    return f"writes files whole in {directory_of(run.layout.record)}"


def _prove_programs(run: Run) -> str:
    finished = run.host.run(["/bin/sh", "-c", "echo ready"], deadline_s=5.0)
    if finished.output != b"ready\n":
        raise InvariantError(f"/bin/sh ended with exit code {finished.exit_code}")
    return "starts programs"
