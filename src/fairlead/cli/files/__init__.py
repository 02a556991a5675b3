"""Files and words that people write, as values, with the place of every field."""
