"""The adb bridge: the adb server's socket, never a fork on the hot path."""
