"""What an operator serves: payloads to machines, its health and its metrics."""
