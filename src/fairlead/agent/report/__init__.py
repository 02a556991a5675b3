"""What a boot says of itself: the flight record, the status, the report. Nothing here decides."""
