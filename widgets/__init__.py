"""Widgets of the console: they take values and post messages."""
