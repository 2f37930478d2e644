"""The pre-commit hook of a skills repository: lint what a commit would add (skills.md#conventions)."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
import sys
from collections.abc import Mapping

from clawperator.engine.config.policy import WRITE_FILES
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.files.regular import open_regular, write_file
from clawperator.engine.guard import Guard
from clawperator.engine.skills.git import QUICK_SECONDS, Git, GitError, require_git

NAME = "pre-commit"
_MARK = "# clawperator: lint of what a commit would add"
_WORDS = "skills lint --staged --output pretty"
_MAX_BYTES = 64 * 1024


async def install_hook(
    env: Mapping[str, str], folder: str, terms_file: str | None = None, *, guard: Guard
) -> tuple[str, bool]:
    """Install the hook in the repository of ``folder``; return its path, and whether the file was changed.

    The hook reads the blocked terms from ``terms_file``, if given.

    Raises ``EngineError``: SKILLS_GIT_NOT_FOUND; USAGE outside of a repository; FILE_EXISTS for another hook; those of
    ``not_writable``.
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
    """Return the hook, which runs the command on PATH, else this installation; without either, the commit fails."""
    own = shlex.join([sys.executable, "-m", "clawperator.app.cli"])
    words = _WORDS if terms_file is None else f"{_WORDS} --terms-file {shlex.quote(os.path.abspath(terms_file))}"
    return (
        f"#!/bin/sh\n{_MARK}\n"
        f"if command -v clawperator >/dev/null 2>&1; then exec clawperator {words}; fi\n"
        f"exec {own} {words}\n"
    )


def _write(path: str, terms_file: str | None) -> bool:
    """Write the hook unless it is up to date; a mark distinguishes it from other hooks."""
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
        write_file(path, wanted, replace=True, mode=0o755)
    except OSError as exc:
        raise not_writable(path, exc) from exc
    return True
