"""
The key of the package repositories: what the distributions' own tools verify packages by.

It lies in a GnuPG home of its own in the depot, since indexes are signed anew every few days. RSA,
because the rpm of every supported image verifies it. More than one key may sign while images change
over: apt takes an index that any key of its file has signed; rpm and dnf look at the newest.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which

from fairlead.errors import InputError, UnavailableError
from fairlead.hotfix.publish.depot import READABLE, Depot, make_readable
from fairlead.hotfix.publish.programs import run
from fairlead.whole_file import write_whole

NAME = "Fairlead hotfixes <hotfixes@fairlead.invalid>"
KIND = "rsa3072"

# Bytes. The name of a socket has 107; the agent's is the longest in its home.
LONGEST_HOME = 70

# What an agent says that finds another one in its home.
ALREADY = "already running"

# Seconds. An agent that was told to end removes its sockets by the name of its home that it was
# given, which lives no longer than the command.
AGENT_ENDS_S = 2.0
SOCKETS = "S.gpg-agent*"


class RepositoryKey:
    """The keys that sign the repositories of a depot, by their fingerprints, the newest last."""

    def __init__(self, depot: Depot) -> None:
        self._depot = depot
        self._home = depot.keys / "repository"

    def make(self) -> str:
        """Make one more key, which is the newest from here on; return its fingerprint."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = set(self.fingerprints())
        with self._short_home() as home:
            words = [
                "--yes",
                "--passphrase",
                "",
                "--quick-generate-key",
                NAME,
                KIND,
                "sign",
                "never",
            ]
            _gpg(home, *words)
        (made,) = [name for name in self.fingerprints() if name not in before]
        self._write_public()
        return made

    def remove_all_but_newest(self) -> list[str]:
        """Remove older keys for good; return their fingerprints."""
        *old, _ = self._known()
        with self._short_home() as home:
            for name in old:
                _gpg(home, "--delete-secret-and-public-key", "--yes", name)
        self._write_public()
        return old

    def fingerprints(self) -> list[str]:
        """Return which keys sign, the oldest first; none where no key was made."""
        if not self._home.is_dir():
            return []
        with self._short_home() as home:
            listed = _look(home, "--with-colons", "--list-keys").decode()
        found: list[tuple[int, str]] = []
        made_at = 0
        for line in listed.splitlines():
            fields = line.split(":")
            if fields[0] == "pub":
                made_at = int(fields[5])
            elif fields[0] == "fpr" and made_at:
                found.append((made_at, fields[9]))
                made_at = 0
        return [name for _, name in sorted(found, key=lambda pair: pair[0])]

    def clearsign(self, text: bytes) -> bytes:
        """Return a text signed within itself, by every key."""
        return self._signed("--clearsign", text, self._known())

    def detached(self, text: bytes) -> bytes:
        """Return the signature of a text by the newest key, in armour."""
        return self._signed("--detach-sign", text, self._known()[-1:])

    def sign_rpm(self, package: Path) -> None:
        """Put a signature of the newest key into an .rpm."""
        newest = self._known()[-1]
        with self._short_home() as home:
            # Each distribution's rpm looks for gpg in a place of its own.
            settings = {"_gpg_path": home, "_gpg_name": newest, "__gpg": which("gpg") or "gpg"}
            words = ["rpmsign", *(f"--define={name} {value}" for name, value in settings.items())]
            _under_agent(home, [*words, "--addsign", str(package)])

    def _signed(self, how: str, text: bytes, names: Sequence[str]) -> bytes:
        users = [word for name in names for word in ("--local-user", name)]
        with self._short_home() as home:
            words = ["--digest-algo", "SHA256", "--armor", *users, "--output", "-", how]
            return _gpg(home, *words, given=text)

    def _known(self) -> list[str]:
        found = self.fingerprints()
        if not found:
            raise InputError(
                f"{self._home} holds no key for the repositories", hint="run: fairlead keys init"
            )
        return found

    def _write_public(self) -> None:
        """Write the public keys as apt wants them, and as rpm does."""
        with self._short_home() as home:
            binary = _look(home, "--export")
            armoured = _look(home, "--armor", "--export")
        for directory, name, text in (
            (self._depot.apt, "repository.gpg", binary),
            (self._depot.rpm, "repository.asc", armoured),
        ):
            make_readable(directory)
            write_whole(directory / name, text, READABLE)

    @contextmanager
    def _short_home(self) -> Iterator[Path]:
        """Give the home by a name that is short enough for the sockets in it."""
        home = self._home.absolute()
        with tempfile.TemporaryDirectory(prefix="fairlead-") as directory:
            if len(str(home)) > LONGEST_HOME:
                short = Path(directory) / "g"
                short.symlink_to(home)
                home = short
            yield home


def _look(home: Path, *words: str) -> bytes:
    """Ask for what is public: no agent is needed."""
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--no-tty", "--no-autostart"]
    return run([*command, *words])


def _gpg(home: Path, *words: str, given: bytes = b"") -> bytes:
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--no-tty"]
    loopback = ["--pinentry-mode", "loopback"]
    return _under_agent(home, [*command, *loopback, *words], given)


def _under_agent(home: Path, words: Sequence[str], given: bytes = b"") -> bytes:
    """
    Run a command with an agent that ends after it, within seconds also if we were killed.

    An agent of somebody who was killed may be there still: then the command uses that one.
    """
    agent = ["gpg-agent", "--homedir", str(home), "--quiet", "--daemon", "--"]
    environment = {"GNUPGHOME": str(home)}
    try:
        return run([*agent, *words], given=given, environment=environment)
    except UnavailableError as error:
        if ALREADY not in error.said:
            raise
        return run(words, given=given, environment=environment)
    finally:
        with suppress(UnavailableError):
            run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"])
        _clear_sockets(home)


def _clear_sockets(home: Path) -> None:
    """See that an agent's sockets go with it: left behind, they hinder whoever copies a depot."""
    end = time.monotonic() + AGENT_ENDS_S
    while any(home.glob(SOCKETS)) and time.monotonic() < end:
        time.sleep(0.01)
    for left in home.glob(SOCKETS):
        left.unlink(missing_ok=True)
