"""Access to devices through the adb server's socket."""
