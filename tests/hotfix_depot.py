"""Small fixes, and depots to publish them in: real packages, real keys, real tools."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairlead.hotfix.catalog import add_base, switch_region
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.fix_package import Recipe, build_fix
from fairlead.hotfix.publish.key_change import RootShape, start_depot
from fairlead.hotfix.publish.publisher import Wish, change_catalog, publish
from fairlead.trust.seen import Seen
from fairlead.trust.verify import Update, Verified, verify_update
from unit.trust.publisher import is_signed

BASE = "202611.16"
SUITE = ("dpkg-deb", "gpg", "gpg-agent", "rpm", "rpmbuild", "rpmsign", "createrepo_c")

# Lays out an agent of two lines, as deploy/node/build_agent.py lays out the real one.
TINY_BUILDER = """\
import sys
from pathlib import Path

root = Path(sys.argv[1]) / "usr/lib/fairlead"
(root / "fairlead-node.d/fairlead").mkdir(parents=True)
version = sys.argv[sys.argv.index("--version") + 1]
(root / "fairlead-node.d/fairlead/__init__.py").write_text(f'__version__ = "{version}"\\n')
(root / "fairlead-node").write_text(f"#!/bin/sh\\necho {version} BODY\\n")
(root / "fairlead-node").chmod(0o755)
"""


def needs(*programs: str) -> None:
    """Skip a test, loudly, where a tool is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"NOT RUN: install {', '.join(missing)}")


def moment() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def tiny_packages(directory: Path, version: str, body: str = "") -> list[Path]:
    """Build the packages of a fix that does next to nothing."""
    tree = directory / f"tree-{version}-{body}"
    (tree / "deploy/node").mkdir(parents=True)
    (tree / "src/fairlead").mkdir(parents=True)
    (tree / "deploy/node/build_agent.py").write_text(TINY_BUILDER.replace("BODY", body))
    before = f"{version.rpartition('.')[0]}.0"
    (tree / "src/fairlead/__init__.py").write_text(f'__version__ = "{before}"\n')
    return [*build_fix(Recipe(version=version, tree=tree), tree / "build")]


@dataclass(frozen=True)
class Publishing:
    """A depot and the offline keys beside it."""

    depot: Depot
    offline: Path

    def publish(self, files: list[Path], now: datetime | None = None) -> bool:
        """Publish; say whether it was new."""
        return publish(self.depot, self.offline, files, Wish(), now or moment()).is_new

    def copied_to(self, directory: Path) -> "Publishing":
        """Return the same in another place, to be hurt."""
        shutil.copytree(self.depot.directory, directory / "depot")
        return Publishing(Depot(directory / "depot"), self.offline)

    def verified(self, at: datetime | None = None, seen: Seen | None = None) -> Verified:
        """Return what a node that was baked with the first root takes."""
        signed = self.depot.read_signed()
        update = Update(list(signed.roots), signed.timestamp, signed.snapshot, signed.targets)
        now = (at or moment()).strftime("%Y-%m-%dT%H:%M:%SZ")
        return verify_update(signed.roots[0], seen or Seen(), update, now, is_signed)


def make_publishing(directory: Path, now: datetime | None = None) -> Publishing:
    """Return a depot in which nothing is published, that supports one base."""
    made = Publishing(Depot(directory / "depot"), directory / "offline")
    start_depot(made.depot, made.offline, RootShape(count=3, threshold=2), now or moment())
    change_catalog(made.depot, lambda one: switch_region(add_base(one, BASE), "local", is_on=True))
    return made
