"""Read the pointer file: which fix, if any, is meant for an agent of one version."""

from __future__ import annotations

from fairlead.agent.files import find_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot
    from fairlead.contract.hotfix.pointer import Resolution


def read_resolution(boot: Boot, current: str) -> Resolution:
    """Return what the pointer file means for an agent of this version."""
    from fairlead.contract.hotfix.pointer import parse_pointer, resolution_of

    text = find_file(boot.run.host, boot.run.layout.pointer)
    pointer = parse_pointer(text or b"")
    if pointer.problem and text is not None:
        boot.run.log("WARN", "hotfix pointer not usable", problem=pointer.problem)
    return resolution_of(pointer, current)
