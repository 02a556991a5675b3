"""A join token from the command line is taken by the service's verifier, as often as it says."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairlead.hotfix.service.attestation.verifier import UnprovenError
from unit.hotfix.attested import join_verifier

KEY = b"a key of the lab, 32 bytes or more"


def made(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (directory / "join.key").write_bytes(KEY + b"\n")
    command = [sys.executable, "-m", "fairlead", "hotfix", "token", "rack-7", "--region", "lab"]
    return subprocess.run(
        [*command, "--join-key", "join.key", *words],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_token_from_the_command_line_proves_its_machine(tmp_path: Path) -> None:
    token = made(tmp_path, "--uses", "1", "--pool", "metal").stdout.strip()
    verifier, now = join_verifier(keys=(KEY,)), datetime.now(UTC)

    claims = verifier.verify(token, "rack-7", now)

    assert (claims.machine, claims.region, claims.pool) == ("rack-7", "lab", "metal")
    with pytest.raises(UnprovenError, match="replayed"):
        verifier.verify(token, "rack-7", now)


def test_a_token_ends_after_its_hours(tmp_path: Path) -> None:
    token = json.loads(made(tmp_path, "--hours", "2", "--json").stdout)["token"]
    verifier, now = join_verifier(keys=(KEY,)), datetime.now(UTC)

    assert verifier.verify(token, "", now + timedelta(minutes=119)).machine == "rack-7"
    with pytest.raises(UnprovenError, match="expired"):
        verifier.verify(token, "", now + timedelta(minutes=121))


@pytest.mark.parametrize("words", [("--hours", "0"), ("--uses", "17"), ("--pool", "\n")])
def test_what_no_service_would_take_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = made(tmp_path, *words)

    assert (done.returncode, done.stdout) == (2, "")
    assert "expected" in done.stderr
