"""Watching the files of skills: the registry, wherever it appears, and the folder of the skill that is looked at."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import aclosing
from importlib import import_module
from pathlib import Path

from clawperator.app.console.devices.avd_watch import nearest

LOOK_MS = 2_000
"""A registry that appears elsewhere, or a folder that is replaced, is noticed at the latest after this time."""
STEP_MS = 100
MAX_FILES = 500


async def watch(
    places: Callable[[], Sequence[str]],
    signs: Callable[[], Hashable],
    changed: Callable[[], object],
    given_up: Callable[[str], object],
    *,
    seen: Hashable,
) -> None:
    """Call ``changed`` whenever ``signs`` are others than before, at first than those ``seen``, until cancelled.

    ``places`` are the folders where that may happen; both are asked in a thread, again and again. ``given_up`` is told why,
    when the system cannot watch; then this returns.
    """
    awatch = (await asyncio.to_thread(import_module, "watchfiles")).awatch  # no key should have to wait for it
    while True:
        folders = await asyncio.to_thread(_nearest, places)
        looking = awatch(
            *folders, watch_filter=None, step=STEP_MS, rust_timeout=LOOK_MS, yield_on_timeout=True, recursive=False
        )
        try:
            async with aclosing(looking):
                async for _ in looking:
                    now = await asyncio.to_thread(signs)
                    if now != seen:
                        seen = now
                        changed()
                    if await asyncio.to_thread(_nearest, places) != folders:
                        break
        except (OSError, RuntimeError) as exc:
            if await asyncio.to_thread(_all_there, folders):
                given_up(str(exc))
                return


def _nearest(places: Callable[[], Sequence[str]]) -> list[str]:
    """The folders, or what there is of the ways to them, each once."""
    return sorted({str(nearest(Path(place))) for place in places()})


def _all_there(folders: Sequence[str]) -> bool:
    return all(os.path.isdir(folder) for folder in folders)


def folders_of(skill_folder: str) -> list[str]:
    """A skill's folder and those in it, in which its files lie. Reads the disk."""
    try:
        inner = sorted(entry.path for entry in os.scandir(skill_folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        inner = []
    return [skill_folder, *inner[:20]]


def signs_of(paths: Sequence[str]) -> Hashable:
    """What changes when one of these files, or one in these folders, does. Reads the disk."""
    return tuple(_signs(paths))


def _signs(paths: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    count = 0
    for path in paths:
        names = [path]
        if os.path.isdir(path):
            try:
                names = sorted(entry.path for entry in os.scandir(path))
            except OSError:
                names = []
        for name in names:
            count += 1
            if count > MAX_FILES:
                return
            try:
                state = os.stat(name)
            except OSError:
                yield name, ()
            else:
                yield name, (state.st_mtime_ns, state.st_size, state.st_ino)
