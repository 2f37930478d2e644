"""The devices of other computers: an engine over a server's HTTP API (``RemoteEngine``), and one over a fleet."""
