"""Machines by Cluster API, and the clusters that they join."""
