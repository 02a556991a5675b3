"""
Decide what to do about a pool. The only rule that can replace a fleet is here.

Imports revision, inputs and errors; imported by everything to its right on the path.
Never reads a clock, a file or a cluster: facts come in, a Decision goes out.
"""
