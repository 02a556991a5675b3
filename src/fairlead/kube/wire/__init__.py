"""How bytes reach an API server, and who is shown as asking."""
