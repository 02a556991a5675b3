"""
Runs inside a root: install a fix with that root's own package manager, and stage it.

    python3 staged_in_root.py VERSION LENGTH SHA256 INSTALL_S [PATH-IN-THE-DEPOT]
    python3 staged_in_root.py VERSION foreign PROGRAM INSTALL_S

The second is an AKS image without a root of trust, whose agent is PROGRAM. Prints
how it went, as one JSON object.
"""

import json
import sys
import time

sys.path.insert(0, "/srv/src")

from fairlead.agent.host import RealHost
from fairlead.agent.hotfix.stage_fix import stage_fix
from fairlead.agent.layout import Layout
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import Boot, Inputs
from fairlead.errors import FairleadError
from fairlead.trust.metadata import Package
from fairlead.trust.seen import Seen
from fairlead.trust.verify import Verified


class Allowed:
    """What signed targets say, without their signatures."""

    def __init__(self, version: str, length: str, sha256: str, path: str) -> None:
        described = {
            "length": int(length),
            "hashes": {"sha256": sha256},
            "custom": {"base": "", "version": version, "format": path.rpartition(".")[2]},
        }
        self.packages = [Package(path, described)]
        self.revoked: list[str] = []


def main() -> None:
    version, length, sha256, install_s, *more = sys.argv[1:]
    is_foreign = length == "foreign"
    layout = Layout("aks" if is_foreign else "fairlead", {})
    boot = Boot(Run(RealHost(), layout, "run-1"), Inputs("", ""))
    if is_foreign:
        boot.foreign_agent = sha256
    else:
        path = more[0] if more else f"apt/pool/fairlead-node-hotfix_{version}_all.deb"
        allowed = Allowed(version, length, sha256, path)
        boot.verified = Verified(allowed, Seen())  # type: ignore[arg-type]
    boot.fix_until_ns = time.monotonic_ns() + int(float(install_s) * 1e9)
    doing: list[str] = []
    boot.doing = doing.append
    began = time.monotonic()
    try:
        said = stage_fix(boot, version)
    except (FairleadError, OSError) as error:
        said = f"{type(error).__name__}: {error}"
    answer = {"said": said, "took_s": time.monotonic() - began, "doing": doing}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
