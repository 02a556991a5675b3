"""
The sentences: how a pool stands, why, what it waits for, who must act. And the answers they are in.

Imports proposal and what is left of it; imported by the edges, which answer with it, and by the
command line, which shows it. What a decision means in one sentence is decision/explain.py's, since
records and conditions keep it.
"""
