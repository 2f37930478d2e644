"""Looking at a device without changing it."""
