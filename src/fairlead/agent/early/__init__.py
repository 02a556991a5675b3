"""Find what user data brings to this machine before cloud-init, and without running any of it."""
