"""Keys are handed out once, in turn, one at a time, and failures ever more rarely."""

import threading
import tracemalloc
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.kube.queue import WorkQueue


class Clock:
    """Monotonic seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_key_that_is_added_three_times_is_worked_on_once() -> None:
    queue = WorkQueue(Clock())
    for _ in range(3):
        queue.add("a/one")

    assert queue.take() == "a/one"
    queue.done("a/one")
    assert queue.depth == 0


def test_a_key_that_is_added_while_it_is_worked_on_is_worked_on_again() -> None:
    queue = WorkQueue(Clock())
    queue.add("a/one")
    assert queue.take() == "a/one"

    queue.add("a/one")
    assert queue.depth == 0  # not twice at a time
    queue.done("a/one")

    assert queue.take() == "a/one"


def test_a_busy_pool_waits_behind_those_that_came_before_it() -> None:
    queue = WorkQueue(Clock())
    for key in ("busy", "quiet", "calm"):
        queue.add(key)
    order = []
    for _ in range(4):
        taken = queue.take()
        assert taken is not None
        order.append(taken)
        queue.add("busy")
        queue.done(taken)

    assert order == ["busy", "quiet", "calm", "busy"]


def test_a_later_key_is_due_when_its_time_has_come() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    queue.add_later("a/one", 10.0)
    assert queue.depth == 0

    clock.now = 10.0

    assert queue.take() == "a/one"


def test_the_earlier_of_two_moments_counts() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    queue.add_later("a/one", 10.0)
    queue.add_later("a/one", 5.0)
    queue.add_later("a/one", 20.0)
    clock.now = 5.0

    assert queue.take() == "a/one"
    queue.done("a/one")
    clock.now = 30.0
    assert queue.depth == 0  # and no other


def test_what_happens_to_a_key_within_a_moment_is_worked_on_once() -> None:
    clock = Clock()
    queue = WorkQueue(clock, together_s=0.1)
    clock.now = 20.01
    queue.add("a/one")
    clock.now = 20.08
    queue.add("a/one")
    assert (queue.depth, queue.is_idle) == (0, False)

    clock.now = 20.16

    assert queue.take() == "a/one"
    queue.done("a/one")
    assert queue.is_idle
    clock.now = 30.0
    assert queue.depth == 0


def test_a_key_that_something_happens_to_all_the_time_is_worked_on_nevertheless() -> None:
    clock = Clock()
    queue = WorkQueue(clock, together_s=0.1)
    waited = 0
    while not queue.depth:
        queue.add("a/one")
        clock.now += 0.01
        waited += 1

    assert 10 <= waited <= 16


def test_a_key_that_failed_is_tried_at_once_when_something_happens_to_it() -> None:
    clock = Clock()
    queue = WorkQueue(clock, together_s=0.1)
    for _ in range(8):
        queue.failed("a/one")
    queue.add("a/one")

    clock.now = 0.16

    assert queue.take() == "a/one"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40)), min_size=1, max_size=40),
    st.integers(0, 10**6),
)
def test_no_key_is_gathered_for_less_or_much_more_than_it_is_told(
    added: list[tuple[str, int]], begun: int
) -> None:
    clock = Clock()
    clock.now = begun / 1000
    queue = WorkQueue(clock, together_s=0.1)
    first: dict[str, float] = {}
    for key, pause_ms in added:
        clock.now += pause_ms / 1000
        while queue.depth:
            taken = str(queue.take())
            assert clock.now - first.pop(taken) >= 0.1 - 1e-6
            queue.done(taken)
        queue.add(key)
        first.setdefault(key, clock.now)
    clock.now += 0.15 + 1e-6
    left = set()
    while queue.depth:
        left.add(str(queue.take()))

    assert left == set(first)


def test_failures_of_one_key_are_tried_ever_more_rarely_up_to_two_minutes() -> None:
    queue = WorkQueue(Clock())

    waits = [queue.failed("a/one") for _ in range(10)]

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0, 120.0]
    assert queue.failed("a/one", at_most_s=8.0) == 8.0
    queue.succeeded("a/one")
    assert queue.failed("a/one") == 0.5


def test_a_key_is_not_tried_before_the_server_may_be_asked_again() -> None:
    queue = WorkQueue(Clock())

    assert [queue.failed("a/one", 3.0) for _ in range(4)] == [3.0, 3.0, 3.0, 4.0]
    assert queue.failed("a/two", 3600.0) == 120.0


def test_who_waits_for_a_key_goes_when_the_queue_is_closed() -> None:
    queue = WorkQueue()
    taken: list[str | None] = []
    waiting = threading.Thread(target=lambda: taken.append(queue.take()))
    waiting.start()

    queue.close()
    waiting.join(5)

    assert taken == [None]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=60))
def test_no_key_is_ever_worked_on_by_two_and_none_is_lost(added: list[str]) -> None:
    queue = WorkQueue()
    at_work: Counter[str] = Counter()
    worked: set[str] = set()
    lock = threading.Lock()
    twice: list[str] = []

    def work() -> None:
        while (key := queue.take()) is not None:
            with lock:
                at_work[key] += 1
                worked.add(key)
                if at_work[key] > 1:
                    twice.append(key)
            with lock:
                at_work[key] -= 1
            queue.done(key)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for key in added:
        queue.add(key)
    while not queue.is_idle:
        pass
    queue.close()
    for thread in threads:
        thread.join(5)

    assert twice == []
    assert worked == set(added)


def test_a_key_that_is_put_off_again_and_again_costs_no_memory_for_each_time() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    queue.add_later("a/quiet", 5.0)

    tracemalloc.start()
    for _ in range(20_000):  # as many passes before the next token is due
        clock.now += 0.0001
        queue.add("a/busy")
        assert queue.take() == "a/busy"
        queue.done("a/busy")
        queue.add_later("a/busy", 20_000.0)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert grown < 100_000  # bytes; with each moment kept 1.8 million
    clock.now = 5.0
    assert queue.take() == "a/quiet"
    clock.now = 20_002.0
    assert queue.take() == "a/busy"
    assert queue.depth == 0
