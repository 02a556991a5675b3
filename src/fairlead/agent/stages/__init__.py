"""One module per boot stage; the order and what a failure means are in agent/boot.py."""
