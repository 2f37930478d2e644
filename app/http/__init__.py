"""The HTTP face: one engine behind documented routes and an event stream (HTTP contract)."""
