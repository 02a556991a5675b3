"""
What was shown is not what would be done: what moved meanwhile, and as far as it is told, who moved
it, and when.
"""

from collections.abc import Callable, Collection
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.plan import DOES, Plan, exceeds, moved, named
from fairlead.answers.reply import Leaving
from fairlead.answers.words import ChangeClass, EventKind
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import World, observe
from fairlead.controller.think import think
from fairlead.decision.explain import moment
from fairlead.errors import ConflictError
from fairlead.proposal.judge import NODE_POOL
from fairlead.proposal.plan import plan_of
from fairlead.proposal.propose import Proposal, Shown

Blame = Callable[[Event], bool]


def refuse_moved(world: World, proposal: Proposal, shown: Shown, now: datetime) -> None:
    """Raise ConflictError if what was shown is not what would be done, saying what moved."""
    plans = {plan.pool: plan for plan in shown.plans or ()}
    for found in proposal.plans if shown.plans is not None else ():
        besides = _leaving_anyway(world, found.pool, now)
        # A few fields beside a rollout under way: it went on meanwhile, and may.
        compare = exceeds if shown.is_patch and found.pool not in proposal.rollouts else moved
        if told := _moved(found, plans.get(found.pool), besides, compare):
            last = _mover(world, proposal, shown, found)
            raise ConflictError(f"{found.pool}: {told}{last}; nothing was written, plan again")
    for title, base in proposal.bases.items():
        if shown.bases.get(title, base) != base:
            raise ConflictError(_overwritten(world, title))


def refuse_other_deletion(world: World, pool: str, found: Leaving, shown: Leaving) -> None:
    """Raise ConflictError if more would leave with a pool than was shown, or another document."""
    if extra := sorted(set(found.machines).difference(shown.machines)):
        told = f"{named(extra)} would leave with it too, and was not shown"
        last = _in_brackets(_last(world, pool, lambda event: event.machine in extra))
        raise ConflictError(f"{pool}: {told}{last}; nothing was written, look again")
    if shown.base not in ("", found.base):
        raise ConflictError(_overwritten(world, f"{NODE_POOL}/{pool}"))


def _overwritten(world: World, title: str) -> str:
    event = _last_declared(world, title)
    # Who wrote a journal without names is not known any more.
    who = f"{event.whose or 'somebody'} at {moment(event.at)}" if event else "somebody"
    what = f" ({event.says.rstrip('.')})" if event else ""
    return (
        f"{title} was changed by {who} since the plan was shown{what}; "
        "nothing was written, plan again"
    )


def _moved(
    found: Plan,
    shown: Plan | None,
    besides: Collection[str],
    compare: Callable[[Plan, Plan, Collection[str]], str],
) -> str:
    if shown is not None:
        return compare(found, shown, besides)
    is_quiet = found.change is ChangeClass.NONE
    return "" if is_quiet else f"it {DOES[found.change]}, and no plan of it was shown"


def _mover(world: World, proposal: Proposal, shown: Shown, found: Plan) -> str:
    """
    Return the latest act on what moved: who, when and what, in brackets, or ''.

    The pool's document if it is another one, else the platform's if that half of the inputs is,
    else whatever was told last of the machines that one of the plans does not hold.
    """
    title = f"{NODE_POOL}/{found.pool}"
    base = proposal.bases.get(title, "")
    if shown.bases.get(title, base) != base:
        return _in_brackets(_last_declared(world, title))
    before = next((plan for plan in shown.plans or () if plan.pool == found.pool), None)
    if before is not None and before.platform_hash != found.platform_hash:
        return _in_brackets(_last_declared(world, ""))
    others = set(found.disturbed) ^ set(before.disturbed if before else ())
    return _in_brackets(_last(world, found.pool, lambda event: event.machine in others))


def _last_declared(world: World, title: str) -> Event | None:
    """Return who declared a pool last, by kind and name, or else the platform."""
    kind, _, name = title.partition("/")
    if kind == NODE_POOL:
        return _last(world, name, lambda event: event.kind is EventKind.POOL_DECLARED)
    return _last(world, "", lambda event: event.kind is EventKind.PLATFORM_DECLARED)


def _last(world: World, pool: str, is_meant: Blame) -> Event | None:
    # A journal that cannot be read must not hide why something is refused.
    events = attempt(lambda: world.journal.read_events(pool))
    if isinstance(events, Failed):
        return None
    return next((event for event in reversed(events) if is_meant(event)), None)


def _in_brackets(event: Event | None) -> str:
    if event is None:
        return ""
    return f" ({event.whose or 'somebody'}, {moment(event.at)}: {event.says.rstrip('.')})"


def _leaving_anyway(world: World, pool: str, now: datetime) -> frozenset[str]:
    """Return the machines that leave whatever is proposed, since one failed in the meantime."""
    if pool not in world.pools.list_pools():
        return frozenset()

    def removed() -> frozenset[str]:
        seen = observe(pool, world)
        return frozenset(plan_of(seen, think(seen, now)).removed)

    found = attempt(removed)
    return frozenset() if isinstance(found, Failed) else found
