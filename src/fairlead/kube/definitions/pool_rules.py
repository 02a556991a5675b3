"""What one field of a NodePool cannot say alone, as rules in CEL that the API server holds."""

from __future__ import annotations

from fairlead.kube.definitions.structural import Rule


def _is_none(name: str) -> str:
    """Return the condition that a number or a share is 0; CEL compares no number with a text."""
    shares = "['0%', '00%', '000%']"
    return f"(type(self.{name}) == int ? self.{name} == 0 : self.{name} in {shares})"


def _is_in_place(spec: str) -> str:
    """Return the condition that machines are changed in place."""
    named = f"has({spec}.management) && has({spec}.management.type)"
    return f"({named} && {spec}.management.type == 'InPlace')"


# It would leave machines behind that belong to an object of another kind.
KIND_PROBLEM = (
    "a pool that exists cannot change from or to InPlace: make another pool, then delete this one"
)

POOL_RULES = {
    "": (
        Rule(
            "!has(self.replicas) || !has(self.autoscaling) || "
            "((!has(self.autoscaling.min) || self.autoscaling.min <= self.replicas) && "
            "(!has(self.autoscaling.max) || self.replicas <= self.autoscaling.max))",
            "replicas must be within the bounds of autoscaling",
        ),
        Rule(
            f"!{_is_in_place('self')} || !has(self.rollout) || !has(self.rollout.replaceWithout)",
            "rollout.replaceWithout has no meaning for InPlace, which replaces no machine",
        ),
        Rule(f"{_is_in_place('self')} == {_is_in_place('oldSelf')}", KIND_PROBLEM),
    ),
    "autoscaling": (
        Rule(
            "!has(self.min) || !has(self.max) || self.min <= self.max",
            "min must not be greater than max",
        ),
        Rule(
            "has(self.max) && self.max >= 1",
            "max must be at least 1: it says up to how many machines there may be",
        ),
    ),
    "management": (
        Rule(
            "!has(self.type) || self.type != 'InPlace' || "
            "!(has(self.strategy) || has(self.maxSurge))",
            "strategy and maxSurge have no meaning for InPlace",
        ),
        Rule(
            "has(self.strategy) && self.strategy == 'OnDelete' || !has(self.maxSurge) || "
            f"!{_is_none('maxSurge')} || "
            f"(has(self.maxUnavailable) && !{_is_none('maxUnavailable')})",
            "maxSurge and maxUnavailable must not both be 0: nothing could ever be replaced",
        ),
    ),
}
