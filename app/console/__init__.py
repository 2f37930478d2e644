"""The Textual console: composes widgets, translates engine events into messages."""
