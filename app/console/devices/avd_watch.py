"""Watching the folder of the AVD files: only what describes a virtual device counts, whatever else changes there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import aclosing
from importlib import import_module
from pathlib import Path

MAX_FILES = 500
LOOK_MS = 2_000
"""A folder that appears or is replaced, and a config.ini that is rewritten, are noticed at the latest after this time."""
STEP_MS = 100


async def watch(
    folder: Path,
    changed: Callable[[], object],
    given_up: Callable[[str], object],
    *,
    seen: dict[str, tuple[int, ...]],
) -> None:
    """Call ``changed`` whenever the files of ``folder`` are others, at first than those ``seen``, until cancelled. It need
    not exist yet.

    ``given_up`` is told why, when the system cannot watch; then this returns.
    """
    awatch = (await asyncio.to_thread(import_module, "watchfiles")).awatch  # no key should have to wait for it
    while True:
        place = await asyncio.to_thread(nearest, folder)
        looking = awatch(
            place, watch_filter=None, step=STEP_MS, rust_timeout=LOOK_MS, yield_on_timeout=True, recursive=False
        )
        try:
            async with aclosing(looking):
                async for _ in looking:
                    now = await asyncio.to_thread(signs_of, folder)
                    if now != seen:
                        seen = now
                        changed()
                    if await asyncio.to_thread(nearest, folder) != place:
                        break
        except (OSError, RuntimeError) as exc:
            if await asyncio.to_thread(place.exists):
                given_up(str(exc))
                return


def nearest(folder: Path) -> Path:
    """The folder, or what there is of the way to it."""
    return next((place for place in (folder, *folder.parents) if place.is_dir()), Path("/"))


def signs_of(folder: Path) -> dict[str, tuple[int, ...]]:
    """The files that describe virtual devices, each with what changes when it changes. Reads a folder."""
    return dict(_signs(folder))


def _signs(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith((".ini", ".avd")))
    except OSError:
        return
    for name in names[:MAX_FILES]:
        path = os.path.join(folder, name, "config.ini") if name.endswith(".avd") else os.path.join(folder, name)
        try:
            state = os.stat(path)
        except OSError:
            yield name, ()
        else:
            yield name, (state.st_mtime_ns, state.st_size, state.st_ino)
