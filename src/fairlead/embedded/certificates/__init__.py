"""The payload service's certificates: made, renewed, replaced."""
