"""What the operating system refused, as people read it."""

import errno
import os
import ssl

import pytest

from fairlead.telling.errno_text import os_problem, problem_text


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


def test_the_numbers_of_tls_are_not_those_of_the_system() -> None:
    error = ssl.SSLError(1, "[SSL] record layer failure")

    assert os_problem(error) == "[SSL] record layer failure"


def test_a_problem_is_told_whoever_refused() -> None:
    assert problem_text(IsADirectoryError(21, "Is a directory", "/d")) == (
        "/d: is a directory, expected a file"
    )
    assert problem_text(ValueError("no key")) == "no key"
    assert problem_text(ValueError()) == "ValueError"
