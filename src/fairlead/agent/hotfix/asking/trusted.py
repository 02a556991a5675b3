"""
What may be believed about fixes on this image, and what was proven of them.

With a root of trust in the image, only what signed metadata authorises counts. Without one, an
AKS image trusts as upstream does: the channel, and the signature of the package. Any other image
takes no fix at all.
"""

from __future__ import annotations

import time

from fairlead import __version__
from fairlead.agent.hotfix.asking.openssl import signature_check
from fairlead.agent.hotfix.asking.seen_file import find_update, keep, read_seen
from fairlead.agent.hotfix.image_files import ANCHOR
from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.trust.verify import Update, verify_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot
    from fairlead.trust.verify import Verified

# What a pointer must be proven by.
SIGNED, CHANNEL, NOTHING = "signed", "channel", "nothing"

# For metadata that was kept, where there is no deadline of a question.
KEPT_DEADLINE_S = 4.0


def trust_of(run: Run) -> str:
    """Return by what a pointer is believed on this image."""
    if run.host.file_mode(ANCHOR) is not None:
        return SIGNED
    return CHANNEL if run.layout.name == "aks" else NOTHING


def verify_and_keep(boot: Boot, update: Update, end_ns: int) -> Verified:
    """
    Return what an update authorises; from here on the node remembers it.

    Raises RefusedError, and OSError if it cannot be remembered: then it does not count.
    """
    verified = _verified(boot.run, update, end_ns)
    keep(boot.run.host, update, verified.seen)
    boot.verified = verified
    return verified


def find_verified(boot: Boot) -> Verified | None:
    """
    Return what is proven: in this boot, or by what was kept and is verified again now.

    None if nothing was. Raises RefusedError if what was kept no longer holds: most often it ended.
    """
    if boot.verified is None:
        update = find_update(boot.run.host)
        if update is not None:
            end_ns = boot.run.host.monotonic_ns() + int(KEPT_DEADLINE_S * NS_PER_S)
            boot.verified = _verified(boot.run, update, end_ns)
    return boot.verified


def _verified(run: Run, update: Update, end_ns: int) -> Verified:
    anchor = run.host.read_file(ANCHOR)
    seen = read_seen(run.host)
    return verify_update(anchor, seen, update, moment(run), signature_check(run, end_ns))


def moment(run: Run) -> str:
    """
    Return the moment that ends are compared with: the clock's, or this agent's own if later.

    A clock that is behind makes metadata look fresher than it is, by as much as it is behind. One
    that shows a day before this agent was made is known to be wrong, and said so.
    """
    shown = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.host.now_ns() // NS_PER_S))
    made = _made_at(__version__)
    if shown >= made:
        return shown
    run.log("WARN", "the clock shows a time before this agent was made", clock=shown, made=made)
    return made


def _made_at(version: str) -> str:
    """Return midnight of the day in a version, as metadata writes moments."""
    month, day, _ = version.split(".")
    return f"{month[:4]}-{month[4:]}-{day}T00:00:00Z"
