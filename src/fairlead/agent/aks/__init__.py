"""The environment and the command that AKS bootstrap scripts expect, computed from a node config."""
