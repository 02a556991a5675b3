"""What the failure of a stage or a step means for the machine: one of two words, in its row."""

from __future__ import annotations

# Fail-fast: a machine in this state must not join.
STOP_BOOT = "stop-boot"
# Fail-open: join without it, and say so in the report.
BOOT_ANYWAY = "boot-anyway"
