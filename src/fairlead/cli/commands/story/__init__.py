"""Commands that tell what happened: events, logs, timelines."""
