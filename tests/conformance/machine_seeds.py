"""Seeds that machines boot from, and waiting for what becomes of them."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from builders import BUILT_IN_CONFIG
from fairlead.contract.boot_document import BootDocument
from fairlead.embedded.machines.kind import Life, MachineKind, Seed
from fairlead.userdata.delivery import Delivery, Fetch, Inline
from fairlead.userdata.render import Target, render_user_data

# A directory boots in 0.1 s and a container in 5 s; beside other work both take ten times that.
DEADLINE_S = 90.0

RECORD = "var/log/fairlead/record.jsonl"
CONFIG = "etc/fairlead/node-config.json"
FEATURES = "etc/fairlead/features.env"


def make_seed(
    instance: str = "one", *, features: dict[str, str] | None = None, label: str = "blue"
) -> Seed:
    """A seed that carries the whole node config."""
    config = {**BUILT_IN_CONFIG, "kubelet_config": {"kubelet_node_labels": {"colour": label}}}
    return seed_of(Inline(json.dumps(config).encode()), instance, features)


def fetching_seed(endpoint: str, ca: str, token: str, deadline_s: float = 60) -> Seed:
    """A seed that says where to fetch the node config."""
    return seed_of(Fetch(BootDocument(endpoint, ca, token, deadline_s)), "one", None)


def seed_of(delivery: Delivery, instance: str, features: dict[str, str] | None) -> Seed:
    target = Target(format="boothook", features=features or {})
    user_data = render_user_data(delivery, target)
    return Seed(hostname="workers-1", instance=instance, user_data=user_data)


def wait_until(is_so: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> None:
    end = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < end, f"not in {deadline_s} s: {what}"
        time.sleep(0.01)


def wait_for(kind: MachineKind, machine: str, life: Life) -> None:
    wait_until(lambda: kind.life_of(machine) is life, f"{machine} {life}")


def is_running(pid: int) -> bool:
    """Say whether it does more than wait for whoever inherited it to notice its end."""
    stat_file = Path(f"/proc/{pid}/stat")
    return stat_file.exists() and stat_file.read_text().rpartition(")")[2].split()[0] != "Z"
