"""Telling when a stage begins and how it ended, whatever happens in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from clawperator.engine.errors import EngineError
from clawperator.engine.events.progress import Stage, Tell


@contextmanager
def stage(job: str, name: str, tell: Tell, *, limit: float = 0.0, message: str = "") -> Iterator[None]:
    """The body is the stage; ``limit`` is in seconds. What it raises passes through."""
    began = time.monotonic()
    tell(Stage(job, name, "running", limit_ms=limit * 1000, message=message))
    try:
        yield
    except BaseException as exc:
        why = exc.message if isinstance(exc, EngineError) else "stopped"
        tell(Stage(job, name, "failed", (time.monotonic() - began) * 1000, limit * 1000, message=why))
        raise
    tell(Stage(job, name, "done", (time.monotonic() - began) * 1000, limit * 1000))
