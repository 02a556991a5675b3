"""Is the caller the machine that it says it is? One verifier for each kind of proof."""
