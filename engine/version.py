"""The version of this project and of the Operator contract it speaks."""

__version__ = "0.1.0"

CONTRACT_VERSION = "0.3.1"
"""Operator contract implemented here; what the JSON contract calls ``cliVersion`` (doctor.md §6)."""
