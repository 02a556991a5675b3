"""
EDGE: this computer. State in SQLite; a machine is a directory or an nspawn container.

Imports controller, payload and what is left of them; imported by the command line.
One process writes: it holds the lock of its state directory for as long as it lives.
"""
