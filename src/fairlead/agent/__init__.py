"""
The program on the machine: one process from the first byte of user data to provision.complete.

Imports contract and errors only: this is what ships to machines. Standard library only,
Python 3.10, and sparing even with that: docs/decisions/0002 says which modules and why.
"""
