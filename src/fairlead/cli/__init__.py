"""The `fairlead` command: the one package that knows all others."""
