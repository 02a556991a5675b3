"""
What a booting machine asks for over the network, and what it is answered.

Imports controller and what is left of it; imported by the edges.
answer.py is pure: who shows which token, and what follows. app.py is the door to the network.
"""
