"""
Documents in: every problem by field, or what they would do to every pool they touch.

Imports controller and what is left of it; imported by telling and the edges. Writes nothing: a
plan is the thought of the next pass over documents that are not in force.
"""
