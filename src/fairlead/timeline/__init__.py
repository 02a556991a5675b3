"""Where the time of a boot went: from a boot report to spans, comparisons and drawings. Pure."""
