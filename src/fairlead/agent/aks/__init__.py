"""The environment and the command that AKS bootstrap scripts expect, from a node config."""
