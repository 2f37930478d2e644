"""Run the git binary without prompts, independent of the caller's repository, and stoppable (skills.md#installing)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.process.child import CannotStartError, capture
from clawperator.engine.process.output import BoundedOutput

SECONDS = 120.0
"""Time limit of one command."""
QUICK_SECONDS = 5.0
"""Time limit of a command that only reads the local repository."""
_MAX_STDOUT = 32 * 1024 * 1024
_MAX_STDERR = 64 * 1024
_LONGEST_REASON = 1000
_REPOSITORY_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)
"""Set by a git that calls us, as in a hook: they would direct our commands to its repository."""
_PROGRESS = re.compile(
    r"(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Updating|Unpacking|Filtering)\b.*|Cloning into .*"
)
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]{1,256}@")


class GitError(Exception):
    """A command failed, timed out or could not be started; the text is git's, bounded and without credentials."""


@dataclass(frozen=True, slots=True)
class GitOutput:
    """What a command wrote to stdout; ``cut``: not all of it was kept."""

    raw: bytes
    cut: bool

    @property
    def text(self) -> str:
        return self.raw.decode(errors="replace").strip()


class Git:
    """Commands on the repository in ``folder`` (the current one where it is empty).

    ``inherit`` keeps the caller's repository variables and configuration: for hooks, whose index may be a temporary one, and
    for reading the user's settings.
    """

    def __init__(self, env: Mapping[str, str], folder: str = "", *, inherit: bool = False) -> None:
        self.folder = folder
        self._env = environment(env, inherit=inherit)
        self._command = ("git", *(() if inherit else _QUIET), *(("-C", folder) if folder else ()))

    async def run(
        self, *arguments: str, seconds: float = SECONDS, on_line: Callable[[str], object] | None = None
    ) -> GitOutput:
        """Run one command; ``on_line`` gets the lines that it writes to stderr.

        Raises ``GitError``. A cancellation ends the command and everything that it started.
        """
        name = next((word for word in arguments if not word.startswith("-")), arguments[0])
        try:
            done = await capture(
                [*self._command, *arguments],
                self._env,
                stdout=BoundedOutput(_MAX_STDOUT),
                stderr=BoundedOutput(0, _MAX_STDERR),
                on_line=on_line,
                line_streams=("stderr",),
                seconds=seconds,
            )
        except CannotStartError as exc:
            raise GitError(f"git cannot be run: {exc}") from exc
        except TimeoutError as exc:
            raise GitError(f"git {name} did not end within {seconds:g} s and was stopped") from exc
        if done.exit_code:
            raise GitError(f"git {name} failed: {reason(done.stderr.ending) or f'exit code {done.exit_code}'}")
        return GitOutput(done.stdout.head, done.stdout.truncated)


_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "submodule.recurse=false")
"""Runs no hook of a repository or of a template."""


def environment(env: Mapping[str, str], *, inherit: bool = False) -> dict[str, str]:
    """Return ``env`` for a git that never prompts and connects only by known protocols."""
    clean = {name: value for name, value in env.items() if inherit or name not in _REPOSITORY_VARIABLES}
    return clean | {
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "LC_ALL": "C",
    }


def reason(text: str) -> str:
    """Return git's error output without progress and credentials, bounded."""
    lines = (line.rpartition("\r")[2].strip() for line in text.splitlines())
    kept = [line for line in lines if line and not _PROGRESS.fullmatch(line)]
    return _CREDENTIALS.sub("", " ".join(kept))[-_LONGEST_REASON:]


async def require_git(env: Mapping[str, str]) -> None:
    """Raise ``EngineError`` (SKILLS_GIT_NOT_FOUND) unless git runs."""
    try:
        await Git(env).run("--version")
    except GitError as exc:
        raise EngineError(ErrorCode.SKILLS_GIT_NOT_FOUND, f"git is not usable: {exc}") from exc


def paths(raw: bytes) -> Sequence[str]:
    """Return the names of a NUL-separated list."""
    return [name.decode(errors="surrogateescape") for name in raw.split(b"\0") if name]
