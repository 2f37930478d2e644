"""How a script calls us back: one executable path without blanks, because scripts test for it first and then split it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

_NAME = "clawperator"
_MODULE = "clawperator.app.cli"


@contextmanager
def own_command() -> Iterator[str]:
    """The path of our own command, for as long as the script runs.

    It is the one that was installed beside our interpreter. Where there is none (``python -m``), or blanks stand in its path,
    it is a small script in a folder of its own that calls this very interpreter. What PATH calls by our name is never
    taken: it may be another program.
    """
    installed = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), _NAME)
    if not any(map(str.isspace, installed)) and os.path.isfile(installed) and os.access(installed, os.X_OK):
        yield installed
        return
    with TemporaryDirectory(prefix=f"{_NAME}-") as folder:
        path = os.path.join(folder, _NAME)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as script:
            script.write(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-m", _MODULE])} "$@"\n')
        os.chmod(path, 0o700)
        yield path
