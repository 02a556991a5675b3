"""The hotfix service alone: processes that serve one depot, and the one that looks after them."""
