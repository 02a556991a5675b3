"""What is asked before a plan is carried out, because it takes machines away or makes many."""

from collections.abc import Sequence

from fairlead.answers.document import Json
from fairlead.answers.plan import Plan
from fairlead.telling.counted import counted

# More at once are asked about, and fewer if the pool would more than double. One that has none
# yet has no measure of its own.
MOST_ADDED = 50


def question_about(plans: Sequence[Plan]) -> str:
    """Return what to ask before plans are carried out, or ''."""
    if disturbed := sum(len(plan.disturbed) for plan in plans):
        return f"disturb {counted(disturbed)}?"
    return next(filter(None, map(scale_question, plans)), "")


def scale_question(plan: Plan) -> str:
    """Return what to ask about the number of machines alone, or ''."""
    before, after = replicas_of(plan)
    if after < before:
        # Where a pause or the kill switch holds, the next pass removes none, and a later one does.
        return f"remove {counted(max(before - after, plan.removes))} of {plan.pool}?"
    added = after - before
    if added > MOST_ADDED or 0 < before < added:
        return f"add {counted(added)} to {plan.pool}, which has {before}?"
    if plan.is_new and plan.creates > MOST_ADDED:
        return f"create {counted(plan.creates)} for {plan.pool}?"
    return ""


def scales(plan: Plan) -> bool:
    """Say whether the number of machines changes."""
    before, after = replicas_of(plan)
    return before != after


def replicas_of(plan: Plan) -> tuple[int, int]:
    """Return how many machines were and are declared; both 0 if that stays."""
    for leaf in plan.leaves:
        if leaf.leaf == "replicas":
            return _number(leaf.before), _number(leaf.after)
    return 0, 0


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0
