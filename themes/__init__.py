"""Themes of the console."""
