"""
Hotfixes, from a tree of sources to an answer that a booting node gets.

Imports trust, contract and what is left of payload; imported by the edges and the commands.
publish/ makes and signs; the depot that it writes is a directory that anything may serve.
"""
