"""Fairlead boots, fixes and rolls Kubernetes nodes without surprises."""

# YYYYMM.DD.PATCH: the base, YYYYMM.DD, decides which hotfixes may apply to this agent.
__version__ = "202611.16.0"
