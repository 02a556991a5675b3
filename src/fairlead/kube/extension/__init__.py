"""What Cluster API asks before and while it changes machines in place: its runtime hooks."""
