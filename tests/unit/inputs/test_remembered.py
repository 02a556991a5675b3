"""What was worked out is found again by its text, for any thread, within a bound."""

from __future__ import annotations

import threading
import time

from fairlead.inputs.remembered import Remembered


def test_what_was_kept_is_found_by_the_whole_of_its_text() -> None:
    kept: Remembered[int] = Remembered(100)
    kept.keep("one", 1)

    assert kept.find("one") == 1
    assert kept.find("on") is None
    assert kept.find("one ") is None


def test_what_was_used_last_stays_when_the_text_is_too_much() -> None:
    kept: Remembered[str] = Remembered(30)
    for name in ("a" * 10, "b" * 10, "c" * 10):
        kept.keep(name, name)
    kept.find("a" * 10)

    kept.keep("d" * 10, "d")

    assert [letter for letter in "abcd" if kept.find(letter * 10)] == ["a", "c", "d"]


def test_what_a_value_holds_counts_as_well() -> None:
    kept: Remembered[str] = Remembered(100)
    kept.keep("one", "x" * 90, 90)
    kept.keep("two", "y" * 90, 90)

    assert kept.find("one") is None
    assert kept.find("two") == "y" * 90


def test_what_is_kept_twice_counts_once() -> None:
    kept: Remembered[int] = Remembered(30)
    kept.keep("a" * 10, 1)
    for _ in range(100):
        kept.keep("b" * 10, 2)

    assert kept.find("a" * 10) == 1


class Slow(str):
    """A text that lets other threads go first whenever it is looked up."""

    __slots__ = ()

    def __hash__(self) -> int:
        time.sleep(0)
        return super().__hash__()


def test_many_threads_remember_at_once() -> None:
    kept: Remembered[int] = Remembered(30)
    troubles: list[Exception] = []

    def use(first: int) -> None:
        try:
            for number in range(first, first + 500):
                text = Slow(f"{number % 5:010}")
                assert kept.find(text) in (None, number % 5)
                kept.keep(text, number % 5)
        except Exception as error:  # noqa: BLE001 - told below
            troubles.append(error)

    threads = [threading.Thread(target=use, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert troubles == []
