"""The event stream: the engine's bus as server-sent events."""
