"""`python3 -m fairlead.agent`, and the installed program."""

from __future__ import annotations

import os

from fairlead.agent.main import main

if __name__ == "__main__":
    # Everything is written and closed by now; tearing down the interpreter costs 2 ms of a boot.
    os._exit(main())
