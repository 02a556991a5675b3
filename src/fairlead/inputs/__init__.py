"""
Everything a revision is made of: the file that defines a leaf decides who owns it.

Imports contract and errors; imported by everything to its right on the path.
Never reads a clock, a file or a cluster: mappings come in, values go out.
"""
