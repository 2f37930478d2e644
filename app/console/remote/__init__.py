"""The console before a Clawperator server: another engine behind the same screens, over the server's HTTP API."""
