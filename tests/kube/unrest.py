"""Everything that must replace no machine, again and again: and what it did to templates."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from fairlead.kube.answer import Object
from fairlead.kube.resource import PLATFORM_CONFIGS, SECRETS
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.invariants import kept_of

# Seconds after each act before templates are looked at: also what writes late is seen.
REST_S = 1.0

ROTATES = timedelta(hours=5, minutes=31)


class MovedClock:
    """The operator's clock, ahead of the world's by as much as was said."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC).replace(microsecond=0) + self.ahead


class Unrest:
    """Platform changes, scaling, rotated tokens and operators that start again, for some pools."""

    def __init__(self, fleet: Fleet, clock: MovedClock, names: list[str]) -> None:
        self._fleet = fleet
        self._clock = clock
        self._names = names
        self._replicas = 1
        self.rounds = 0
        self.written: list[str] = []

    def go_on(self, seconds: float) -> None:
        """Do all of it, over and over, and look at every template after each."""
        for name in self._names:
            self._fleet.declare(name, replicas=1)
        for name in self._names:
            self._fleet.settle(name)
        before = {name: self._fleet.deployment(name) for name in self._names}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.rounds += 1
            for act in self._acts():
                scalings = act()
                time.sleep(REST_S)
                self._compare(before, act.__name__, scalings)

    def _acts(self) -> Iterator[Callable[[], int]]:
        yield from (self.change_platform, self.scale, self.rotate_tokens, self.start_again)

    def change_platform(self) -> int:
        document = {
            "apiVersion": PLATFORM_CONFIGS.api_version,
            "kind": "PlatformConfig",
            "metadata": {"name": "platform", "namespace": NAMESPACE},
            "spec": {"proxy": {"image": f"registry.example.test/proxy:{self.rounds}"}},
        }
        self._fleet.admin.apply(PLATFORM_CONFIGS, document, manager="owner")
        self._wait(lambda name: self._fleet.state(name) == "Drifted")
        return 0

    def scale(self) -> int:
        self._replicas = 3 - self._replicas
        for name in self._names:
            self._fleet.declare(name, replicas=self._replicas)
        self._wait(self._is_scaled)
        return 1

    def rotate_tokens(self) -> int:
        before = {name: self._token(name) for name in self._names}
        self._clock.ahead += ROTATES
        self.start_again()  # whoever runs has its next look at the hour of the world
        self._wait(lambda name: self._token(name) != before[name])
        return 0

    def start_again(self) -> int:
        self._fleet.stop_operators()
        operator = self._fleet.start_operator(f"round-{self.rounds}")
        wait_until(lambda: operator.counted.passes >= len(self._names) and operator.queue.is_idle)
        return 0

    def _is_scaled(self, name: str) -> bool:
        status = self._fleet.pool(name)["status"]
        counts = (status["desired"], status["available"], len(self._fleet.machines(name)))
        return set(counts) == {self._replicas}

    def _token(self, name: str) -> str:
        told = self._fleet.deployment(name)["spec"]["template"]["spec"]["bootstrap"]
        found = self._fleet.admin.find(SECRETS, told["dataSecretName"], NAMESPACE)
        assert found is not None, f"{told['dataSecretName']} of {name} is missing"
        return str(kept_of(found)["token"])

    def _wait(self, holds: Callable[[str], bool]) -> None:
        for name in self._names:
            wait_until(lambda: holds(name), lambda: self._fleet.pool(name).get("status"))  # noqa: B023

    def _compare(self, before: dict[str, Object], act: str, scalings: int) -> None:
        """Note each template that is another, and each that was written for no other number."""
        for name in self._names:
            known, found = before[name], self._fleet.deployment(name)
            if found["spec"]["template"] != known["spec"]["template"]:
                self.written.append(f"round {self.rounds}, {act}: the template of {name} changed")
            grown = found["metadata"]["generation"] - known["metadata"]["generation"]
            if grown != scalings:
                self.written.append(f"round {self.rounds}, {act}: {name} written {grown} times")
            before[name] = found
