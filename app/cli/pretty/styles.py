"""Styles and marks of ``--output pretty``."""

GOOD, BAD, UNSURE, FAINT = "green", "bold red", "yellow", "dim"
OK, FAIL, WARN = ("[OK]", GOOD), ("[FAIL]", BAD), ("[WARN]", UNSURE)
