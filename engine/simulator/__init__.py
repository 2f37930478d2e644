"""Simulated Android devices, behind the protocols of real ones."""
