"""Read the feature file: `KEY=VALUE` lines, parsed and never executed."""

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
    return boot.features.get(HOTFIX_FEATURE) == "true"
