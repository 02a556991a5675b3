"""
What an image of a machine holds so that it can take fixes: as if it had been baked with it.

It is put on the disk of a machine that was never started before. So no seed and no hash depends on
it, and machines that were made before there was a depot stay as they are.
"""

from __future__ import annotations

from fairlead.contract.hotfix.answer import DEPOT_PATH
from fairlead.errors import InputError
from fairlead.hotfix.publish.depot import Depot

DIRECTORY = "/etc/fairlead/hotfix"
ANCHOR = f"{DIRECTORY}/root.json"
REPOSITORY_KEY = f"{DIRECTORY}/repository.gpg"

# Bytes: the public key of a repository has 3,000.
LARGEST_KEY = 1 << 20


def image_files(depot: Depot, address: str, ca: str) -> dict[str, bytes]:
    """
    Return the files of a new machine by their path; none if there is no depot that can be read.

    address: where machines reach the payload service, which serves the depot, too.
    """
    try:
        anchor = depot.read_signed().roots[-1]
    except InputError:
        return {}
    line = f"deb [signed-by={REPOSITORY_KEY}] {address}{DEPOT_PATH}/apt ./\n"
    files = {
        f"{DIRECTORY}/repository.list": line.encode(),
        f"{DIRECTORY}/ca.pem": ca.encode(),
    }
    key = depot.apt / "repository.gpg"
    if key.is_file() and key.stat().st_size <= LARGEST_KEY:
        files[REPOSITORY_KEY] = key.read_bytes()
    # Last: who has it has all of them.
    files[ANCHOR] = anchor
    return files
