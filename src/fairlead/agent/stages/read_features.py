"""
Read the feature file: `KEY=VALUE` lines, parsed and never executed.

The AKS launcher exports what it reads, so a feature of the file hides a variable of the same name
that the agent was started with, and every program of a boot sees both.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.stages.stage import done, skipped
from fairlead.contract.feature_file import parse_features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot, StageEnd

HOTFIX_FEATURE = "ENABLE_PROVISIONING_HOTFIX"


def read_features(boot: Boot) -> StageEnd:
    """Afterwards `boot.features` holds what the file enables."""
    text = find_file(boot.run.host, boot.run.layout.features)
    if text is None:
        return skipped("no feature file")
    boot.features = parse_features(text)
    return done(", ".join(sorted(boot.features)) or "no feature set")


def may_check_hotfix(boot: Boot) -> bool:
    """Say whether the hotfix service may be asked: only the literal `true` enables it."""
    return environment_with_features(boot).get(HOTFIX_FEATURE) == "true"


def environment_with_features(boot: Boot) -> dict[str, str]:
    """Return what scripts and other agents are started with, besides variables of their own."""
    return {**boot.run.host.environment, **boot.features}
