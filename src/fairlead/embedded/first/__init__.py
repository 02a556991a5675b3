"""The documents of the first pool, the same as examples/pool.yaml and examples/platform.yaml."""
