"""The command line: one payload in, one JSON document out."""
