"""
How fast and when: budgets, windows, pause, halt, soak, canary batches, and who removes machines.

Percentages round as Kubernetes rounds them: surge up, unavailable down; if both come out as
nothing, one machine may be unavailable, or nothing would ever move.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fairlead.answers.words import Severity, Strategy
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Leaves
from fairlead.revision.revision import SecretContent
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.window import FindZone, Window, parse_window

PER_CENT = 100

DEFAULT_ESTIMATE = timedelta(minutes=10)
DEFAULT_JOIN_TIMEOUT = timedelta(minutes=20)
DEFAULT_READY_TIMEOUT = timedelta(minutes=8)
DEFAULT_HALT_AFTER = 2

# Above this many unhealthy machines the cause is not the machines.
DEFAULT_MAX_UNHEALTHY = 2


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of machines, or per cent of the wanted number."""

    number: int
    is_percent: bool = False

    def rounded_up(self, of: int) -> int:
        """Return how many machines this is, a fraction counting as one."""
        return -(-self.number * of // PER_CENT) if self.is_percent else self.number

    def rounded_down(self, of: int) -> int:
        """Return how many machines this is, a fraction counting as none."""
        return self.number * of // PER_CENT if self.is_percent else self.number


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause, for ever or until a moment. `covers_scaling`: replicas and repair wait as well."""

    until: datetime | None = None
    covers_scaling: bool = False

    def is_over(self, now: datetime) -> bool:
        """Say whether the pause has ended."""
        return self.until is not None and self.until <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything the owner said about how, when and how many; defaults where nothing was said."""

    replicas: int = 0
    autoscaling: tuple[int, int] | None = None
    strategy: Strategy = Strategy.ROLLING
    max_surge: Budget = Budget(1)
    max_unavailable: Budget = Budget(0)
    windows: tuple[Window, ...] = ()
    canary: tuple[Budget, ...] = ()
    soak: timedelta = timedelta()
    halt_after: int = DEFAULT_HALT_AFTER
    estimate: timedelta = DEFAULT_ESTIMATE
    join_timeout: timedelta = DEFAULT_JOIN_TIMEOUT
    ready_timeout: timedelta = DEFAULT_READY_TIMEOUT
    pause: Pause | None = None
    refreshes: bool = False
    maximum_age: Mapping[Severity, timedelta] = field(default_factory=dict)
    content: SecretContent = SecretContent.IGNORE
    auto_repair: bool = False
    max_unhealthy: Budget = Budget(DEFAULT_MAX_UNHEALTHY)
    force: str = ""
    resume: str = ""
    settings: NodeSettings = field(default_factory=NodeSettings)

    def replicas_from(self, current: int) -> int:
        """Return how many machines are wanted, given how many the autoscaler last asked for."""
        if self.autoscaling is None:
            return self.replicas
        fewest, most = self.autoscaling
        return min(max(current, fewest), most)

    def surge(self, desired: int) -> int:
        """Return how many machines there may be above the wanted number."""
        return 0 if self.strategy is Strategy.IN_PLACE else self.max_surge.rounded_up(desired)

    def unavailable(self, desired: int) -> int:
        """Return how many of the wanted machines may be missing."""
        down = self.max_unavailable.rounded_down(desired)
        return down if down or self.surge(desired) else 1

    def active_pause(self, now: datetime) -> Pause | None:
        """Return the pause that holds at this moment."""
        return self.pause if self.pause and not self.pause.is_over(now) else None


def policy_of(settings: Leaves, find_zone: FindZone) -> Policy:
    """Return the policy of a pool's settings. Raises InputError by field."""
    strategy, surge, unavailable = _budgets_of(settings)
    estimate = _duration(settings, "rollout.estimate", DEFAULT_ESTIMATE)
    return Policy(
        replicas=_number(settings, "replicas", 0),
        autoscaling=_autoscaling_of(settings),
        strategy=strategy,
        max_surge=surge,
        max_unavailable=unavailable,
        windows=_windows_of(settings, estimate, find_zone),
        canary=tuple(_budget(size) for size in _list(settings, "rollout.canary")),
        soak=_duration(settings, "rollout.soak", timedelta()),
        halt_after=_number(settings, "rollout.haltAfter", DEFAULT_HALT_AFTER),
        estimate=estimate,
        join_timeout=_duration(settings, "timeouts.join", DEFAULT_JOIN_TIMEOUT),
        ready_timeout=_duration(settings, "timeouts.ready", DEFAULT_READY_TIMEOUT),
        pause=_pause_of(settings),
        refreshes=settings.get("platformChanges.newNodes") == "Refresh",
        maximum_age=_maximum_age_of(settings),
        content=SecretContent(settings.get("secretContent", "Ignore")),
        auto_repair=settings.get("autoRepair") is True,
        max_unhealthy=_budget(settings.get("maxUnhealthy", DEFAULT_MAX_UNHEALTHY)),
        force=str(settings.get("force", "")),
        resume=str(settings.get("rollout.resume", "")),
        settings=_node_settings_of(settings),
    )


def _budgets_of(settings: Leaves) -> tuple[Strategy, Budget, Budget]:
    """Return strategy, maxSurge, maxUnavailable. Raises InputError if nothing could ever move."""
    strategy = _strategy_of(settings)
    surge = _budget(settings.get("management.maxSurge", 1))
    otherwise = 1 if strategy is Strategy.IN_PLACE else 0
    unavailable = _budget(settings.get("management.maxUnavailable", otherwise))
    if strategy is Strategy.ROLLING and not surge.number and not unavailable.number:
        raise InputError("maxSurge and maxUnavailable are both 0", field="spec.management")
    return strategy, surge, unavailable


def _windows_of(settings: Leaves, estimate: timedelta, find_zone: FindZone) -> tuple[Window, ...]:
    return tuple(
        parse_window(window, f"spec.rollout.windows[{at}]", estimate, find_zone)
        for at, window in enumerate(_list(settings, "rollout.windows"))
    )


def _strategy_of(settings: Leaves) -> Strategy:
    kind = settings.get("management.type", "Replace")
    strategy = settings.get("management.strategy")
    if kind == "InPlace":
        for name in ("strategy", "maxSurge"):
            if f"management.{name}" in settings:
                problem = "has no meaning for InPlace"
                raise InputError(problem, field=f"spec.management.{name}")
        return Strategy.IN_PLACE
    return Strategy(strategy or "RollingUpdate")


def _autoscaling_of(settings: Leaves) -> tuple[int, int] | None:
    if "autoscaling.max" not in settings and "autoscaling.min" not in settings:
        return None
    if "replicas" in settings:
        raise InputError("cannot stand beside autoscaling", field="spec.replicas")
    fewest, most = _number(settings, "autoscaling.min", 0), _number(settings, "autoscaling.max", 0)
    if most < max(fewest, 1):
        raise InputError(
            f"found {most}, expected at least {max(fewest, 1)}", field="spec.autoscaling.max"
        )
    return fewest, most


def _pause_of(settings: Leaves) -> Pause | None:
    pause = settings.get("paused")
    if not isinstance(pause, dict) or not pause["paused"]:
        return None
    until = pause.get("until")
    return Pause(
        until=datetime.fromisoformat(until) if until else None,
        covers_scaling=pause.get("scalingToo") is True,
    )


def _maximum_age_of(settings: Leaves) -> dict[Severity, timedelta]:
    paths = {severity: f"platformChanges.maximumAge.{severity.value}" for severity in Severity}
    return {
        severity: _duration(settings, path, timedelta())
        for severity, path in paths.items()
        if path in settings
    }


def _node_settings_of(settings: Leaves) -> NodeSettings:
    return NodeSettings(
        labels={
            path.removeprefix("labels."): str(value)
            for path, value in sorted(settings.items())
            if path.startswith("labels.")
        },
        taints=tuple(_list(settings, "taints")),
        drain_timeout=_optional_duration(settings, "timeouts.drain"),
    )


def _list(settings: Leaves, path: str) -> list[Json]:
    value = settings.get(path)
    return value if isinstance(value, list) else []


def _number(settings: Leaves, path: str, otherwise: int) -> int:
    value = settings.get(path, otherwise)
    return value if isinstance(value, int) else otherwise


def _duration(settings: Leaves, path: str, otherwise: timedelta) -> timedelta:
    value = settings.get(path)
    return timedelta(seconds=value) if isinstance(value, int) else otherwise


def _optional_duration(settings: Leaves, path: str) -> timedelta | None:
    # Zero is how Kubernetes spells "no limit" here.
    return _duration(settings, path, timedelta()) or None


def _budget(value: object) -> Budget:
    if isinstance(value, str):
        return Budget(int(value.removesuffix("%")), is_percent=True)
    return Budget(value if isinstance(value, int) else 0)
