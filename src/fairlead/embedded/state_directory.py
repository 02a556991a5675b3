"""
Where the embedded control plane keeps everything: one directory, private to its owner.

Removing it removes the control plane. Nothing of it lives anywhere else but doors for other users,
where there are any: a directory beside it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "FAIRLEAD_STATE"

# What SQLite keeps beside a database while it is open, and after it was killed.
SQLITE_ENDS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The paths of one control plane. `make` creates them; reading commands only look."""

    path: Path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / "fairlead.db"

    @property
    def replaced_database(self) -> Path:
        """The database that a restore took the place of."""
        return self.path / "fairlead.db.replaced"

    @property
    def lock(self) -> Path:
        """Held by the one process that may write."""
        return self.path / "lock"

    @property
    def watermark(self) -> Path:
        """How far the database was written, and that this directory is a control plane's."""
        return self.path / "watermark"

    @property
    def socket(self) -> Path:
        """Where commands reach the control plane."""
        return self.path / "api.sock"

    @property
    def roles(self) -> Path:
        """Who else may do what; written by the owner, by hand."""
        return self.path / "roles"

    @property
    def shared_socket(self) -> Path:
        """What users with a role reach, through a link of it in `shared`."""
        return self.path / "shared.sock"

    @property
    def shared(self) -> Path:
        """Beside the state directory, which nobody else may enter: the doors for other users."""
        return self.path.with_name(f"{self.path.name}.shared")

    @property
    def port(self) -> Path:
        """Where the payload service listens, so that it listens there again."""
        return self.path / "port"

    @property
    def shared_bootstrap_token(self) -> Path:
        """One for all kubelets, where an older version left it: each machine has its own."""
        return self.path / "bootstrap-token"

    @property
    def log(self) -> Path:
        """What a control plane without a terminal says."""
        return self.path / "control-plane.log"

    @property
    def certificates(self) -> Path:
        """The certificate authority of the payload service, and the service's own certificate."""
        return self.path / "certificates"

    @property
    def machines(self) -> Path:
        """One directory per machine."""
        return self.path / "machines"

    @property
    def secrets(self) -> Path:
        """One file per pull secret and trust bundle, named as pools name them."""
        return self.path / "secrets"

    @property
    def hotfix(self) -> Path:
        """The depot of hotfixes, where there is one."""
        return self.path / "hotfix"

    @property
    def hotfix_keys(self) -> Path:
        """Keys of hotfixes that are better kept elsewhere, where nobody took them away."""
        return self.path / "hotfix-keys"

    def make(self) -> None:
        """Afterwards the directories exist, readable by nobody else."""
        for directory in (self.path, *self.directories()):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def directories(self) -> tuple[Path, ...]:
        """The directories inside."""
        return (self.certificates, self.machines, self.secrets)

    def kept_files(self) -> tuple[Path, ...]:
        """Files beside the database that a backup holds, since machines know what is in them."""
        return (self.port,)

    def kept_rooms(self) -> tuple[Path, ...]:
        """Directories whose files a backup holds; of the depot's own, only the catalog."""
        depot = self.hotfix
        repository = depot / "keys" / "repository"
        return (
            self.certificates,
            self.secrets,
            depot,
            depot / "metadata",
            depot / "keys",
            repository,
            repository / "private-keys-v1.d",
        )

    def files(self) -> tuple[Path, ...]:
        """Every file that a control plane makes here, whether it is there or not."""
        databases = (self.database, self.replaced_database)
        return (
            self.watermark,
            *(file.with_name(file.name + end) for file in databases for end in ("", *SQLITE_ENDS)),
            self.socket,
            self.port,
            self.shared_bootstrap_token,
            self.log,
            self.log.with_name(f"{self.log.name}.1"),
            self.lock,
        )


def find_state_directory(given: Path | None = None) -> StateDirectory:
    """Return the directory that was asked for, or else the environment's, or else the usual one."""
    if given is not None:
        return StateDirectory(given.absolute())
    if named := os.environ.get(VARIABLE):
        return StateDirectory(Path(named).absolute())
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return StateDirectory(Path(base) / "fairlead")
