"""
How many examples a property is tried with.

A fifth of what it is worth in the default tests, all of them in `make slow`, which says so in the
environment.
"""

import os

VARIABLE = "FAIRLEAD_ALL_EXAMPLES"


def examples(count: int) -> int:
    return count if os.environ.get(VARIABLE) else max(10, count // 5)
