"""What pools and the rest are to an API server: the seven definitions, made from our own types."""
