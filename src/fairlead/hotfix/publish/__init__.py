"""Keys, signed metadata, packages and repositories: all that is written into a depot."""
