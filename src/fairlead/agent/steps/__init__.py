"""The built-in steps that turn a Debian or Ubuntu image with containerd and kubelet into a node."""
