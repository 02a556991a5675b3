"""
Where the time of a boot went: read, compared, drawn.

Imports contract and errors; imported by the command line and the console.
"""
