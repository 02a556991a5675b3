"""
The documents that cross a process boundary: their shape, and how bytes become values.

Imports errors only; imported by everything else, and carried to machines by the agent.
Never reads a file, a clock or the network. Standard library only, Python 3.10.
"""
