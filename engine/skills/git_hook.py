"""The guard of a skills repository: a git hook that lints what a commit would add (skills.md#conventions)."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
import sys
from collections.abc import Mapping

from clawperator.engine.config.policy import WRITE_FILES
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.files.writing import open_regular
from clawperator.engine.guard import Guard
from clawperator.engine.skills.git import QUICK_SECONDS, Git, GitError, require_git

NAME = "pre-commit"
_MARK = "# clawperator: lint of what a commit would add"
_WORDS = "skills lint --staged --output pretty"
_MAX_BYTES = 64 * 1024


async def install_hook(
    env: Mapping[str, str], folder: str, terms_file: str | None = None, *, guard: Guard
) -> tuple[str, bool]:
    """Put the hook into the repository around ``folder``: the path of the hook, and whether anything was changed.

    The hook takes the blocked terms from ``terms_file`` where it is given.

    Raises ``EngineError``: SKILLS_GIT_NOT_FOUND; USAGE where there is no repository; FILE_EXISTS for another hook, and
    those of ``not_writable``.
    """
    with guard.acting(WRITE_FILES, f"install a hook in the git repository of {folder}"):
        return await _install(env, folder, terms_file)


async def _install(env: Mapping[str, str], folder: str, terms_file: str | None) -> tuple[str, bool]:
    await require_git(env)
    git = Git(env, folder, inherit=True)
    try:
        hooks = (await git.run("rev-parse", "--git-path", "hooks", seconds=QUICK_SECONDS)).text
    except GitError as exc:
        raise EngineError(
            ErrorCode.USAGE, f"{folder} is not in a git repository: {exc}", details={"path": folder}
        ) from exc
    path = os.path.normpath(os.path.join(folder, hooks, NAME))  # noqa: ASYNC240 -- asks no file system
    return path, await asyncio.to_thread(_write, path, terms_file)


def script(terms_file: str | None = None) -> str:
    """The hook: the command of the PATH, else this very installation; where neither is there, nothing is committed."""
    own = shlex.join([sys.executable, "-m", "clawperator.app.cli"])
    words = _WORDS if terms_file is None else f"{_WORDS} --terms-file {shlex.quote(os.path.abspath(terms_file))}"
    return (
        f"#!/bin/sh\n{_MARK}\n"
        f"if command -v clawperator >/dev/null 2>&1; then exec clawperator {words}; fi\n"
        f"exec {own} {words}\n"
    )


def _write(path: str, terms_file: str | None) -> bool:
    """Write the hook unless it is there already. Whether a file of somebody else is there is decided by its mark."""
    wanted = script(terms_file).encode(errors="surrogateescape")
    try:
        if os.path.lexists(path):
            with open_regular(path) as file:
                present = file.read(_MAX_BYTES)
            if present == wanted and os.stat(path).st_mode & stat.S_IXUSR:
                return False
            if _MARK.encode() not in present:
                raise EngineError(
                    ErrorCode.FILE_EXISTS,
                    f"{path} already exists and is another hook",
                    hint=f"Add this line to it: clawperator {_WORDS} || exit 1",
                    details={"path": path},
                )
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(wanted)
        os.chmod(path, 0o755)  # noqa: S103 -- git runs it
    except OSError as exc:
        raise not_writable(path, exc) from exc
    return True
