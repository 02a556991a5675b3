"""A suite of real parts runs where changes are judged, whoever installed what there."""

import pytest

from kube.built_tools import refuse
from shared_cases import REPOSITORY


def test_a_test_without_its_tools_fails_in_ci_and_is_skipped_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="etcd is missing; it must run here"):
        refuse("etcd is missing")

    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="NOT RUN: etcd is missing"):
        refuse("etcd is missing")


def test_what_must_pass_before_a_change_lands_is_ci_whatever_its_caller_says() -> None:
    before_the_tests, _, _ = (REPOSITORY / ".ci" / "run").read_text().partition("make test")

    assert "export CI=true" in before_the_tests.splitlines()
