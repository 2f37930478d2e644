"""Markdown recipes: source → model → steps → execution. Pure: no clock, device, network, environment or file."""
