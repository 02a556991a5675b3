"""
EDGE: a cluster. Pools, their secrets and their machines live in the API server.

Imports everything up to hotfix and payload; imported by the commands. Third-party code enters in
client.py only.
"""
