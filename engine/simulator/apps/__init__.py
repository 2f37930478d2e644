"""The apps of a simulated device, each a few declarative screens."""
