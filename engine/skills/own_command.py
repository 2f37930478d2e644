"""The command by which scripts run Clawperator: an executable path without blanks, because scripts split it."""

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
    """Yield the path of this installation's command while the script runs.

    It is the one next to the interpreter, else a temporary script that calls the interpreter (``python -m``, or a path with
    blanks). PATH is not searched: a command of the same name may be another program.
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
