"""What machines are served, to a byte: node configs with what is added to them."""
