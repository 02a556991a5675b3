"""
How fast and when: budgets, windows, pause, halt, soak, canary batches, and who removes machines.

Percentages round as Kubernetes rounds them: surge up, unavailable down; if both come out as
nothing, one machine may be unavailable, or nothing would ever move.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fairlead.answers.words import Severity, Strategy
from fairlead.contract.image_version import is_version
from fairlead.errors import InputError
from fairlead.inputs.bounds import LONGEST_S, MOST_MACHINES, read_moment
from fairlead.inputs.defaults import DEFAULTS
from fairlead.inputs.leaf import Json, Leaves
from fairlead.revision.revision import SecretContent
from fairlead.rollout.machines import NodeSettings, Pacing
from fairlead.rollout.window import FindZone, Window, parse_window

PER_CENT = 100

MAXIMUM_AGES = [(one, f"platformChanges.maximumAge.{one.value}") for one in Severity]


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of machines, or per cent of the wanted number."""

    number: int
    is_percent: bool = False

    @property
    def text(self) -> int | str:
        """The same as Kubernetes writes it."""
        return f"{self.number}%" if self.is_percent else self.number

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


@dataclass(frozen=True, slots=True)
class Without:
    """Machines without this fix are to be replaced, once for every distinct request; or ''."""

    fix: str = ""
    request: str = ""

    @property
    def key(self) -> str:
        """What one request is told from another by."""
        return f"{self.fix} {self.request}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything the owner said about how, when and how many; defaults where nothing was said."""

    replicas: int = 0
    autoscaling: tuple[int, int] | None = None
    strategy: Strategy = Strategy.ROLLING
    max_surge: Budget = field(default_factory=lambda: _default_budget("management.maxSurge"))
    max_unavailable: Budget = field(
        default_factory=lambda: _default_budget("management.maxUnavailable")
    )
    windows: tuple[Window, ...] = ()
    canary: tuple[Budget, ...] = ()
    soak: timedelta = timedelta()
    halt_after: int = field(default_factory=lambda: _number(DEFAULTS, "rollout.haltAfter"))
    estimate: timedelta = field(default_factory=lambda: _duration(DEFAULTS, "rollout.estimate"))
    join_timeout: timedelta = field(default_factory=lambda: _duration(DEFAULTS, "timeouts.join"))
    ready_timeout: timedelta = field(default_factory=lambda: _duration(DEFAULTS, "timeouts.ready"))
    pause: Pause | None = None
    refreshes: bool = False
    maximum_age: Mapping[Severity, timedelta] = field(default_factory=dict)
    content: SecretContent = SecretContent.IGNORE
    auto_repair: bool = False
    max_unhealthy: Budget = field(default_factory=lambda: _budget(DEFAULTS["maxUnhealthy"]))
    force: str = ""
    resume: str = ""
    without: Without = Without()
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

    @property
    def pacing(self) -> Pacing:
        """How an edge that makes machines by itself is to do it."""
        if self.strategy is Strategy.IN_PLACE:
            # Our own steps repair: the edge does not know which machine is being changed.
            return Pacing(
                max_surge=0,
                max_unavailable=self.max_unavailable.text,
                in_place=True,
                limits=self.autoscaling,
            )
        return Pacing(
            max_surge=self.max_surge.text,
            max_unavailable=self.max_unavailable.text,
            waits_for_deletion=self.strategy is Strategy.ON_DELETE,
            min_ready=self.soak,
            unhealthy=self.max_unhealthy.text if self.auto_repair else None,
            join_timeout=self.join_timeout,
            ready_timeout=self.ready_timeout,
            limits=self.autoscaling,
        )

    def active_pause(self, now: datetime) -> Pause | None:
        """Return the pause that holds at this moment."""
        return self.pause if self.pause and not self.pause.is_over(now) else None


def policy_of(settings: Leaves, find_zone: FindZone) -> Policy:
    """Return the policy of a pool's settings. Raises InputError by field."""
    filled, (strategy, surge, unavailable) = _filled(settings), _budgets_of(settings)
    return Policy(
        replicas=_number(filled, "replicas"),
        autoscaling=_autoscaling_of(settings),
        strategy=strategy,
        max_surge=surge,
        max_unavailable=unavailable,
        windows=_windows_of(filled, find_zone),
        canary=tuple(_budget(size) for size in _list(settings, "rollout.canary")),
        soak=_duration(filled, "rollout.soak"),
        halt_after=_number(filled, "rollout.haltAfter"),
        estimate=_duration(filled, "rollout.estimate"),
        join_timeout=_duration(filled, "timeouts.join"),
        ready_timeout=_duration(filled, "timeouts.ready"),
        pause=_pause_of(settings),
        refreshes=filled["platformChanges.newNodes"] == "Refresh",
        maximum_age=_maximum_age_of(settings),
        content=SecretContent(filled["secretContent"]),
        auto_repair=filled["autoRepair"] is True,
        max_unhealthy=_budget(filled["maxUnhealthy"]),
        force=str(settings.get("force", "")),
        resume=str(settings.get("rollout.resume", "")),
        without=_without_of(settings, strategy),
        settings=_node_settings_of(filled),
    )


def _filled(settings: Leaves) -> dict[str, Json]:
    """Return the settings with what we fill in. Raises InputError for too many machines."""
    # Before anything is computed: a plan lists what it creates.
    for path in ("replicas", "autoscaling.min", "autoscaling.max"):
        count = settings.get(path)
        if isinstance(count, int) and count > MOST_MACHINES:
            raise InputError(
                f"found {count}, expected at most {MOST_MACHINES} machines in one pool",
                field=f"spec.{path}",
                hint="no edge holds more; make several pools",
            )
    return {**DEFAULTS, **settings}


def _budgets_of(settings: Leaves) -> tuple[Strategy, Budget, Budget]:
    """Return strategy, maxSurge, maxUnavailable. Raises InputError if nothing could ever move."""
    strategy = _strategy_of(settings)
    path = "management.maxUnavailable"
    row = f"{path}[InPlace]" if strategy is Strategy.IN_PLACE else path
    surge = _budget(settings.get("management.maxSurge", DEFAULTS["management.maxSurge"]))
    unavailable = _budget(settings.get(path, DEFAULTS[row]))
    if strategy is Strategy.ROLLING and not surge.number and not unavailable.number:
        raise InputError("maxSurge and maxUnavailable are both 0", field="spec.management")
    return strategy, surge, unavailable


def _windows_of(settings: Leaves, find_zone: FindZone) -> tuple[Window, ...]:
    estimate = _duration(settings, "rollout.estimate")
    return tuple(
        parse_window(window, f"spec.rollout.windows[{at}]", estimate, find_zone)
        for at, window in enumerate(_list(settings, "rollout.windows"))
    )


def _strategy_of(settings: Leaves) -> Strategy:
    kind = settings.get("management.type", DEFAULTS["management.type"])
    strategy = settings.get("management.strategy", DEFAULTS["management.strategy"])
    if kind == "InPlace":
        for name in ("strategy", "maxSurge"):
            if f"management.{name}" in settings:
                problem = "has no meaning for InPlace"
                raise InputError(problem, field=f"spec.management.{name}")
        return Strategy.IN_PLACE
    return Strategy(strategy)


def _autoscaling_of(written: Leaves) -> tuple[int, int] | None:
    if "autoscaling.max" not in written and "autoscaling.min" not in written:
        return None
    settings = {**DEFAULTS, **written}
    fewest, most = _number(settings, "autoscaling.min"), _number(settings, "autoscaling.max")
    if most < max(fewest, 1):
        raise InputError(
            f"found {most}, expected at least {max(fewest, 1)}", field="spec.autoscaling.max"
        )
    if "replicas" not in written:
        return fewest, most
    # Somebody scales by hand, within the bounds: no autoscaler has the word then.
    count = _number(settings, "replicas")
    if not fewest <= count <= most:
        problem = f"found {count}, expected {fewest} to {most}, the bounds of autoscaling"
        raise InputError(problem, field="spec.replicas")
    return None


def _without_of(settings: Leaves, strategy: Strategy) -> Without:
    path = "rollout.replaceWithout"
    fix = str(settings.get(f"{path}.fix", ""))
    request = str(settings.get(f"{path}.request", ""))
    if fix and strategy is Strategy.IN_PLACE:
        raise InputError(
            "has no meaning for InPlace, which replaces no machine",
            field=f"spec.{path}",
            hint="fairlead machine delete NAME replaces one; the next boots with the fix",
        )
    if fix and not is_version(fix):
        raise InputError(f"found {fix!r}, expected YYYYMM.DD.PATCH", field=f"spec.{path}.fix")
    return Without(fix, request) if fix else Without()


def _pause_of(settings: Leaves) -> Pause | None:
    pause = settings.get("paused")
    if not isinstance(pause, dict) or not pause["paused"]:
        return None
    until = pause.get("until")
    return Pause(
        until=read_moment(until) if until else None,
        covers_scaling=pause.get("scalingToo") is True,
    )


def _maximum_age_of(settings: Leaves) -> dict[Severity, timedelta]:
    return {
        severity: _duration(settings, path) for severity, path in MAXIMUM_AGES if path in settings
    }


def _node_settings_of(settings: Leaves) -> NodeSettings:
    labels = sorted([path for path in settings if path.startswith("labels.")])
    return NodeSettings(
        labels={path.removeprefix("labels."): str(settings[path]) for path in labels},
        taints=tuple(_list(settings, "taints")),
        drain_timeout=_optional_duration(settings, "timeouts.drain"),
        detach_timeout=_optional_duration(settings, "timeouts.detach"),
    )


def _list(settings: Leaves, path: str) -> list[Json]:
    value = settings.get(path)
    return value if isinstance(value, list) else []


def _number(settings: Leaves, path: str) -> int:
    value = settings[path]
    return value if isinstance(value, int) else 0


def _duration(settings: Leaves, path: str) -> timedelta:
    return timedelta(seconds=min(_number(settings, path), LONGEST_S))


def _optional_duration(settings: Leaves, path: str) -> timedelta | None:
    # Zero is how Kubernetes spells "no limit" here.
    return _duration(settings, path) or None


def _default_budget(path: str) -> Budget:
    return _budget(DEFAULTS[path])


def _budget(value: object) -> Budget:
    if isinstance(value, str):
        return Budget(int(value.removesuffix("%")), is_percent=True)
    return Budget(value if isinstance(value, int) else 0)
