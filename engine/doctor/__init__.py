"""Is everything ready to drive a device? One function per check, run in a fixed order."""
