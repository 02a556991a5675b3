"""A machine's seed: where its pair is served, and its own token, as any cloud would be given it."""

from __future__ import annotations

from fairlead.contract.boot_document import BootDocument
from fairlead.embedded.machines.kind import Seed
from fairlead.rollout.secrets import UserData
from fairlead.userdata.delivery import Fetch
from fairlead.userdata.render import Target, render_user_data

# A payload service on the same computer is there at once, or is being restarted.
FETCH_DEADLINE_S = 120


def seed_of(machine: str, user_data: UserData, token: str) -> Seed:
    """Return what a machine boots from. Raises InputError if the stub cannot be used."""
    document = BootDocument(
        user_data.stub.endpoint,
        user_data.stub.ca,
        token,
        FETCH_DEADLINE_S,
        report=user_data.stub.report,
    )
    return Seed(
        hostname=machine,
        instance=f"{machine}-{user_data.id}",
        user_data=render_user_data(Fetch(document), Target(format="boothook", cloud="nocloud")),
    )
