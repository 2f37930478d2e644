"""Colours by meaning."""
