"""Where pools, records, machines, secrets and events are kept: one SQLite database."""
