"""Models become styled text. Pure; the one place where device text is made safe for a terminal."""
