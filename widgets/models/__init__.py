"""What widgets show, as values. Pure."""
