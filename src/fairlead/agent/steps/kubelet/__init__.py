"""Built-in steps that write what the kubelet starts and joins with."""
