"""The real git binary, run so that it asks nobody, obeys no surroundings and can be stopped (skills.md#installing)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clawperator.engine.emulators.sdk import Heard
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.process.child import CannotStartError, run_child

SECONDS = 120.0
"""What one command may take."""
QUICK_SECONDS = 5.0
"""What a look at the local repository may take."""
_MAX_STDOUT = 32 * 1024 * 1024
_MAX_STDERR = 64 * 1024
_LONGEST_REASON = 1000
_SURROUNDINGS = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)
"""Variables that a git that calls us sets, as in a hook: they would lead our commands into its repository."""
_SAID_ANYWAY = re.compile(
    r"(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Updating|Unpacking|Filtering)\b.*|Cloning into .*"
)
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]{1,256}@")


class GitError(Exception):
    """A command failed, took too long or could not be started; the text is git's, bounded and without credentials."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command wrote; ``cut``: there was more on stdout than is kept."""

    raw: bytes
    cut: bool

    @property
    def text(self) -> str:
        return self.raw.decode(errors="replace").strip()


class Git:
    """Commands on the repository in ``folder`` (the current one where it is empty).

    ``surrounded`` takes repository and configuration as the surroundings have them: for hooks, whose index may be a temporary
    one, and for questions about what the user has chosen.
    """

    def __init__(self, env: Mapping[str, str], folder: str = "", *, surrounded: bool = False) -> None:
        self.folder = folder
        self._env = environment(env, surrounded=surrounded)
        self._command = ("git", *(() if surrounded else _QUIET), *(("-C", folder) if folder else ()))

    async def run(self, *arguments: str, seconds: float = SECONDS, tell: Callable[[str], object] | None = None) -> Said:
        """Run one command; ``tell`` hears the lines that it writes to stderr.

        Raises ``GitError``. Cancelling ends the command and everything that it started.
        """
        kept, total = bytearray(), 0
        words = Heard(_MAX_STDERR, tell, tail=True)

        def take(stream: str, data: bytes) -> None:
            nonlocal total
            if stream == "stderr":
                words.take(data)
                return
            total += len(data)
            kept.extend(data[: max(_MAX_STDOUT - len(kept), 0)])

        name = next((word for word in arguments if not word.startswith("-")), arguments[0])
        try:
            ended = await run_child([*self._command, *arguments], self._env, take, seconds=seconds)
        except CannotStartError as exc:
            raise GitError(f"git cannot be run: {exc}") from exc
        words.end()
        if ended.too_late:
            raise GitError(f"git {name} did not end within {seconds:g} s and was stopped")
        if ended.exit_code:
            raise GitError(f"git {name} failed: {reason(words.text) or f'exit code {ended.exit_code}'}")
        return Said(bytes(kept), total > len(kept))


_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "submodule.recurse=false")
"""Nothing that lies in a repository or in a template runs because of us."""


def environment(env: Mapping[str, str], *, surrounded: bool = False) -> dict[str, str]:
    """``env`` for a git that must never ask, and that talks to nothing but known kinds of servers."""
    clean = {name: value for name, value in env.items() if surrounded or name not in _SURROUNDINGS}
    return clean | {
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "LC_ALL": "C",
    }


def reason(text: str) -> str:
    """What matters of git's words: no progress, no credentials, not much."""
    lines = (line.rpartition("\r")[2].strip() for line in text.splitlines())
    kept = [line for line in lines if line and not _SAID_ANYWAY.fullmatch(line)]
    return _CREDENTIALS.sub("", " ".join(kept))[-_LONGEST_REASON:]


async def require_git(env: Mapping[str, str]) -> None:
    """Raises ``EngineError`` (SKILLS_GIT_NOT_FOUND) where there is no git that runs."""
    try:
        await Git(env).run("--version")
    except GitError as exc:
        raise EngineError(ErrorCode.SKILLS_GIT_NOT_FOUND, f"No usable git: {exc}") from exc


def paths(raw: bytes) -> Sequence[str]:
    """The names in a list that is separated by NUL."""
    return [name.decode(errors="surrogateescape") for name in raw.split(b"\0") if name]
