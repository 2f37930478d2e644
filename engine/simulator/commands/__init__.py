"""The programs on a simulated device's PATH."""
