"""Decision and inputs to the bytes a machine boots from. No file, no clock, no network here."""
