"""A plan in one sentence: what it does to machines."""

from fairlead.answers.plan import Plan
from fairlead.answers.words import ChangeClass, LeafClass
from fairlead.telling.counted import counted
from fairlead.telling.question import replicas_of

# What a plan of each class does to its machines. One that does nothing has none.
VERBS = {
    ChangeClass.NONE: "left alone",
    ChangeClass.IN_PLACE: "changed in place",
    ChangeClass.REPLACE: "replaced",
    ChangeClass.DELETE: "removed",
}


def headline_of(plan: Plan) -> str:
    """Return what a plan does to machines, in one sentence without its end."""
    told = ["new pool"] if plan.is_new else []
    if plan.machines:
        because = f" because {plan.because}" if plan.because else ""
        told.append(f"{counted(len(plan.machines))} will be {VERBS[plan.change]}{because}")
    if creates := _creates(plan):
        told.append(f"{counted(creates)} will be created")
    if plan.removes:
        told.append(f"{counted(plan.removes)} will be removed")
    if plan.change is ChangeClass.DELETE:
        told.append("the pool goes")
    return ", ".join(told) or _quiet_headline(plan)


def _creates(plan: Plan) -> int:
    """Return how many machines are made beside those that take the place of others."""
    if not plan.machines:
        return plan.creates
    before, after = replicas_of(plan)
    return min(plan.creates, max(after - before, 0))


def _quiet_headline(plan: Plan) -> str:
    held = sum(leaf.leaf_class is LeafClass.PLATFORM for leaf in plan.leaves)
    if plan.change is ChangeClass.IN_PLACE:
        return "changed in place, no machine will be replaced"
    if held:
        return f"{counted(held, 'platform change')} held, no machine will be replaced"
    if plan.leaves:
        return "no machine will be replaced"
    return "nothing changes, no machine will be replaced"
