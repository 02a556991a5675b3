"""
The questions of commands, answered from a world: the same on every edge.

An edge brings its world, and what only it knows of machines; it keeps what was agreed to.
"""
