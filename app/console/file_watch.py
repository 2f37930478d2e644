"""Watch folders for changes, also before they exist; the files of skills and virtual devices, as far as their changes matter."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from contextlib import aclosing
from importlib import import_module
from itertools import islice
from pathlib import Path

LOOK_MS = 2_000
"""A folder that appears or is replaced, and a file that is rewritten in a folder below, are noticed after this time at the latest."""
STEP_MS = 250
"""The watching thread wakes so often, also when nothing changes."""
MAX_FILES = 500
_MAX_FOLDERS = 20


async def changes(
    places: Callable[[], Sequence[str]], signs: Callable[[], object], *, seen: object
) -> AsyncGenerator[None]:
    """Yield whenever ``signs`` differ from before, first from ``seen``. Close it: ``aclosing``.

    ``places`` are the folders where that may happen, existing or not. Both are called in a thread, again and again. Raises
    ``OSError`` when the system cannot watch.
    """
    awatch = (await asyncio.to_thread(import_module, "watchfiles")).awatch  # slow to import: no key should wait for it
    while True:
        folders = await asyncio.to_thread(_existing, places)
        events = awatch(
            *folders, watch_filter=None, step=STEP_MS, rust_timeout=LOOK_MS, yield_on_timeout=True, recursive=False
        )
        try:
            async with aclosing(events):
                async for _ in events:
                    now = await asyncio.to_thread(signs)
                    if now != seen:
                        seen = now
                        yield
                    if await asyncio.to_thread(_existing, places) != folders:
                        break
        except (OSError, RuntimeError) as exc:
            if all([await asyncio.to_thread(os.path.isdir, folder) for folder in folders]):
                raise OSError(str(exc)) from exc


def _existing(places: Callable[[], Sequence[str]]) -> list[str]:
    """Return the folders, or their nearest parents that exist, each once."""
    ways = ((Path(place), *Path(place).parents) for place in places())
    return sorted({str(next((folder for folder in way if folder.is_dir()), Path("/"))) for way in ways})


def stamp(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Return what changes when the file does; empty for a file that cannot be read."""
    try:
        state = os.stat(path)
    except OSError:
        return ()
    return state.st_mtime_ns, state.st_size, state.st_ino


def names_in(folder: str | os.PathLike[str]) -> list[str]:
    """Return the sorted names in a folder; empty for one that cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def avd_signs(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the files of ``folder`` that describe virtual devices, each with what changes when it changes."""
    names = [name for name in names_in(folder) if name.endswith((".ini", ".avd"))]
    return {
        name: stamp(folder / name / "config.ini" if name.endswith(".avd") else folder / name)
        for name in names[:MAX_FILES]
    }


def folders_of(skill_folder: str) -> list[str]:
    """Return a skill's folder and the folders in it."""
    paths = (os.path.join(skill_folder, name) for name in names_in(skill_folder))
    inner = (path for path in paths if os.path.isdir(path) and not os.path.islink(path))
    return [skill_folder, *islice(inner, _MAX_FOLDERS)]


def file_signs(paths: Sequence[str]) -> Hashable:
    """Return what changes when one of these files, or one in these folders, does."""
    files = (os.path.join(path, name) for path in paths for name in (names_in(path) if os.path.isdir(path) else [""]))
    return tuple((file, stamp(file)) for file in (name.rstrip("/") for name in islice(files, MAX_FILES)))
