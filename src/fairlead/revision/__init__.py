"""
Inputs to revisions: two hashes that share nothing, and the inputs they were taken over.

Imports inputs, contract and errors; imported by everything to its right on the path.
Never reads a clock, a file or a cluster.
"""
