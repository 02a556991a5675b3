"""
The agent in one file of byte code: how it is made, and how a process loads from it.

The sources lie beside it, and whatever is wrong with the bundle, they run instead: a bundle that
is missing, of another Python or of other sources as a whole, a damaged module by itself.
"""
