"""Flags that say how machines prove who they are."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.cli.commands.hotfix.verifiers import add_verifiers, verifiers_of
from fairlead.errors import InputError
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.service.attestation.verifier import AttestationVerifier, UnprovenError
from unit.hotfix.attested import NOW, aws_proof, aws_signer


def aws_by(directory: Path, *words: str) -> AttestationVerifier:
    (directory / "aws.pem").write_bytes(aws_signer().pem)
    parser = ArgumentParser()
    add_verifiers(parser)
    account = ("--region", "us-west-2", "--aws-certificate", f"us-west-2={directory / 'aws.pem'}")
    found = parser.parse_args([*account, "--aws-account", "123456789012", *words])
    (verifier,) = verifiers_of(found, Depot(directory))
    return verifier


def test_an_aws_machine_is_believed_for_half_a_year_after_it_was_started(tmp_path: Path) -> None:
    verifier = aws_by(tmp_path)

    assert verifier.verify(aws_proof(), "", NOW + timedelta(days=179)).region == "us-west-2"
    with pytest.raises(UnprovenError, match="expired"):
        verifier.verify(aws_proof(), "", NOW + timedelta(days=180))


def test_for_how_long_an_aws_document_is_believed_can_be_said(tmp_path: Path) -> None:
    verifier = aws_by(tmp_path, "--aws-oldest", "2")

    assert verifier.verify(aws_proof(), "", NOW + timedelta(days=1)).region == "us-west-2"
    with pytest.raises(UnprovenError, match="expired"):
        verifier.verify(aws_proof(), "", NOW + timedelta(days=2))


@pytest.mark.parametrize("days", ["0", "-1", "3651"])
def test_an_age_that_nobody_can_have_meant_is_refused(tmp_path: Path, days: str) -> None:
    with pytest.raises(InputError, match="--aws-oldest: expected 1 to 3650 days"):
        aws_by(tmp_path, "--aws-oldest", days)
