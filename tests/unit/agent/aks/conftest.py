"""What the tests of the script environment share: from a document to its variables."""

import json
from collections.abc import Callable

import pytest

from fairlead.agent.aks.components import Components
from fairlead.agent.aks.environment import environment_of
from fairlead.contract.node_parse import parse_node_config

IMAGES = {
    "aks-gpu-cuda": ("1.1", "cuda-suffix"),
    "aks-gpu-cuda-lts": ("2.2", "lts-suffix"),
    "aks-gpu-grid": ("3.3", "grid-suffix"),
    "aks-gpu-grid-v20": ("4.4", "v20-suffix"),
}


@pytest.fixture
def variables() -> Callable[..., dict[str, str]]:
    """Return a function from a document, and a containerd version, to the variables."""

    def variables_of(document: dict[str, object], containerd: str = "") -> dict[str, str]:
        parsed = parse_node_config(json.dumps(document).encode())
        assert not parsed.problems
        return environment_of(parsed.config, Components(IMAGES), containerd)

    return variables_of
