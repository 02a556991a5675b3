"""
One pass over one pool: observe, revise, decide, plan, carry out, record.

Imports timeline and what is left of it; imported by the edges and the command line.
Everything it knows of the world comes through World; `now` and randomness are arguments.
"""
