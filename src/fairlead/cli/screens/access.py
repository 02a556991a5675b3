"""Who somebody is to a control plane, and which authority its machines trust."""

from __future__ import annotations

from fairlead.answers.reply import Authorities, Authority, Identity
from fairlead.cli.screens.blocks import QUIET, Block, Cell, Line, Toned, line
from fairlead.decision.explain import moment


def identity_blocks(found: Identity) -> list[Block]:
    """Return who somebody is, and why they have their role."""
    return [line(found.name, ": ", found.role.value, Toned(f" ({found.because})", QUIET))]


def authority_blocks(found: Authorities) -> list[Block]:
    """Return the authority that machines trust, and the one that comes next."""
    blocks: list[Block] = [_named("authority", _authority_text(found.authority))]
    if found.server_until:
        until = f"until {moment(found.server_until)}, renewed a month before"
        blocks.append(_named("served", until))
    if found.next and found.takes_over_at:
        overlap = (
            f"machines trust both; the next one takes over at {moment(found.takes_over_at)}, "
            "or when the last boot from before has ended"
        )
        blocks += [_named("next", _authority_text(found.next)), _named("overlap", overlap)]
    return blocks


def _named(name: str, value: Cell) -> Line:
    label = f"{name:<11}"
    return Line((Toned(label, QUIET), value), hang=len(label))


def _authority_text(authority: Authority) -> str:
    return f"{authority.fingerprint[:16]}, until {moment(authority.until)}"
