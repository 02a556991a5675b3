"""What pools and the rest are to an API server: the six definitions, made from our own types."""
