"""Built-in steps that set the kernel: settings, huge pages, swap, limits."""
