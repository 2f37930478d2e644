"""The files that describe virtual devices."""

from __future__ import annotations

from pathlib import Path

from clawperator.app.console.file_watch import names_in, stamp

MAX_FILES = 500


def signs_of(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the files of ``folder`` that describe virtual devices, each with what changes when it changes."""
    names = [name for name in names_in(folder) if name.endswith((".ini", ".avd"))]
    return {
        name: stamp(folder / name / "config.ini" if name.endswith(".avd") else folder / name)
        for name in names[:MAX_FILES]
    }
