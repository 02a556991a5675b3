"""How answers look in a terminal or a pipe. Draws; asks nobody."""
