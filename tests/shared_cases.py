"""Where the AKS cases are: beside the project, or the copies the project carries."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
SHARED = REPOSITORY.parent / "shared" / "cases"
GOLDEN = REPOSITORY / "tests" / "golden"


def shared_case(name: str) -> Path:
    """Return the file of this name; under CI=true only the shared original will do."""
    if (SHARED / name).exists():
        return SHARED / name
    if os.environ.get("CI") == "true":
        raise FileNotFoundError(f"{SHARED / name} is missing, and CI=true forbids the copy")
    return GOLDEN / name
