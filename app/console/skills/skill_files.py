"""The folders and files of skills, as far as their changes matter."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from itertools import islice

from clawperator.app.console.file_watch import names_in, stamp

MAX_FILES = 500
_MAX_FOLDERS = 20


def folders_of(skill_folder: str) -> list[str]:
    """Return a skill's folder and the folders in it."""
    paths = (os.path.join(skill_folder, name) for name in names_in(skill_folder))
    inner = (path for path in paths if os.path.isdir(path) and not os.path.islink(path))
    return [skill_folder, *islice(inner, _MAX_FOLDERS)]


def signs_of(paths: Sequence[str]) -> Hashable:
    """Return what changes when one of these files, or one in these folders, does."""
    files = (os.path.join(path, name) for path in paths for name in (names_in(path) if os.path.isdir(path) else [""]))
    return tuple((file, stamp(file)) for file in (name.rstrip("/") for name in islice(files, MAX_FILES)))
