"""
Hosts and a world of pools that exist in memory only, with a virtual clock and faults on purpose.

Imports the agent and the controller: the real ones run here. Never touches a real disk.
"""
