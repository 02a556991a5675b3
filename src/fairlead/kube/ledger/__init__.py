"""The ledger of a hotfix service with replicas, in objects of an API server."""
