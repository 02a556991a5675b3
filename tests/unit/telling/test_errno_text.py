"""What the operating system refused, as people read it."""

import errno
import os

import pytest

from fairlead.telling.errno_text import os_problem


def test_a_refusal_names_the_path_and_what_helps() -> None:
    error = OSError(errno.ENOSPC, "No space left on device", "/var/x")

    assert os_problem(error) == (
        "/var/x: no space is left on the device; free some, then try again"
    )


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_no_refusal_is_a_bare_number(number: int) -> None:
    told = os_problem(OSError(number, os.strerror(number)))

    assert "Errno" not in told
    assert len(told.split()) > 1


def test_a_refusal_without_a_number_is_told_as_well() -> None:
    assert os_problem(TimeoutError()) == "timed out"
    assert os_problem(OSError("odd")) == "the system refused it: odd"
