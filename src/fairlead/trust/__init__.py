"""
Is this document authentic, fresh and meant for us? TUF metadata, verified without I/O.

Imports contract and errors; ships to machines: standard library only. Who has a signature checked
brings the way to do it along, and the clock.
"""
