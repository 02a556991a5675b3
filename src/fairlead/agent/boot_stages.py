"""
The stages of a boot, in order, each with one word for what its failure means.

Order and words are the launcher's rules (spec/node.md section 6) as data.
"""

from __future__ import annotations

from fairlead.agent.early.find_document import report_document
from fairlead.agent.on_failure import BOOT_ANYWAY, STOP_BOOT
from fairlead.agent.stages.fetch_config import fetch_config
from fairlead.agent.stages.fix_path import (
    check_hotfix_apart,
    choose_agent_apart,
    download_hotfix_apart,
)
from fairlead.agent.stages.provision import provision
from fairlead.agent.stages.read_features import read_features
from fairlead.agent.stages.stage import Stage
from fairlead.agent.stages.wait_for_machine import wait_for_machine

BOOT_STAGES = (
    Stage("find-document", report_document, BOOT_ANYWAY),
    Stage("fetch-config", fetch_config, STOP_BOOT),
    Stage("read-features", read_features, BOOT_ANYWAY),
    Stage("check-hotfix", check_hotfix_apart, BOOT_ANYWAY),
    Stage("download-hotfix", download_hotfix_apart, BOOT_ANYWAY),
    Stage("choose-agent", choose_agent_apart, BOOT_ANYWAY),
    # What is ours is done by here; scripts were written for a machine that is up.
    Stage("wait-for-machine", wait_for_machine, BOOT_ANYWAY),
    Stage("provision", provision, STOP_BOOT),
)
