"""
Hosts that exist in memory only, with a virtual clock and power cuts on purpose.

Imports the agent and what it imports: the real agent boots here. Never touches a real disk.
"""
