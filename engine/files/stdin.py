"""Reading stdin, for commands that accept ``-`` as a file."""

from __future__ import annotations

import sys


def read_stdin(limit: int) -> bytes:
    """Return at most ``limit`` bytes of stdin. Raises ``OSError``, and ``ValueError`` if stdin is closed or empty."""
    if sys.stdin is None or sys.stdin.closed:
        raise ValueError("it is closed")
    data = sys.stdin.buffer.read(limit)
    if not data:
        raise ValueError("it is empty")
    return data
