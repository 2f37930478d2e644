"""Ways to the device. The caller chooses one; nothing falls back from one to another."""
