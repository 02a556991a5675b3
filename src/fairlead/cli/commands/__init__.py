"""One file per command: its flags, its example, what it asks and what it shows."""
