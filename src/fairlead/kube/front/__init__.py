"""A cluster as commands ask it: by the user's own kubeconfig, with that user's rights."""
