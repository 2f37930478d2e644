"""The staged files of a git repository with their new lines, and the lines that commits have added."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.git import Git, GitError

_WHOLE_FILE = 1_000_000_000
"""Lines of context: more than any file has, so that a diff contains the whole new content."""
_SUBMODULE = b"160000"
_COMMIT = "%x00%H%x00%B%x00"
_HEAD = re.compile(rb"\0([0-9a-f]{40,64})\0([^\0]*)\0")
_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_PLAIN = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-relative",
    "--submodule=short",
)
"""Make the output independent of the user's configuration."""
_STAGED = ("--cached", *_PLAIN, "--diff-filter=AMT")


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged file; ``added`` are the numbers of its new lines, from 1."""

    name: str
    content: bytes
    added: frozenset[int]


@dataclass(frozen=True, slots=True)
class Committed:
    """A line that a commit added, or a line of its message; ``place`` is ``<commit>:<file>``, ``line`` from 1."""

    place: str
    line: int
    text: str


async def committed_lines(env: Mapping[str, str], folder: str = "") -> tuple[list[Committed], bool]:
    """Return every line that the commits of all branches added, newest first, and whether the list is incomplete.

    Raises ``EngineError`` (USAGE) outside of a repository.
    """
    options = ("--all", "-p", "--unified=0", f"--format={_COMMIT}", *_PLAIN)
    try:
        output = await Git(env, folder, inherit=True).run("-c", "core.quotePath=false", "log", *options)
    except GitError as exc:
        raise EngineError(ErrorCode.USAGE, f"The history cannot be read: {exc}") from exc
    parts = _HEAD.split(output.raw)
    commits = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    return [line for commit, message, diff in commits for line in _added(commit.decode(), message, diff)], output.cut


def _added(commit: str, message: bytes, diff: bytes) -> Iterator[Committed]:
    name = commit[:12]
    for number, text in enumerate(message.decode(errors="replace").splitlines(), 1):
        yield Committed(f"{name}:commit message", number, text)
    file, number, inside = "", 0, False
    for line in diff.split(b"\n"):
        if line.startswith(b"diff --git "):
            inside = False
        elif not inside and line.startswith(b"+++ "):
            file = line[4:].removeprefix(b"b/").rstrip(b"\t").decode(errors="replace")
        elif hunk := _HUNK.match(line):
            number, inside = int(hunk[1]), True
        elif inside and line.startswith(b"+"):
            yield Committed(f"{name}:{file}", number, line[1:].decode(errors="replace"))
            number += 1


async def staged_files(env: Mapping[str, str], folder: str = "") -> list[StagedFile]:
    """Return the text files that the next commit of the repository of ``folder`` changes or adds.

    Raises ``EngineError``: SKILLS_GIT_NOT_FOUND, and USAGE outside of a repository or above the size limit.
    """
    git = Git(env, folder, inherit=True)
    try:
        listed = await git.run("diff", *_STAGED, "--raw", "--abbrev=40", "-z")
        changes = await git.run("-c", "diff.suppressBlankEmpty=false", "diff", *_STAGED, f"--unified={_WHOLE_FILE}")
    except GitError as exc:
        raise EngineError(ErrorCode.USAGE, f"The staged files cannot be read: {exc}") from exc
    if listed.cut or changes.cut:
        raise EngineError(ErrorCode.USAGE, "The staged changes exceed the limit", hint="Commit it in parts.")
    names = list(_names(listed.raw))
    parts = _parts(changes.raw)
    if len(names) != len(parts):
        raise EngineError(ErrorCode.USAGE, "The staged files changed during the check", hint="Try again.")
    files = (_file(name, part) for (name, mode), part in zip(names, parts, strict=True) if mode != _SUBMODULE)
    return [file for file in files if file.added]


def _names(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and new mode of each file in the output of ``--raw -z``."""
    fields = iter(raw.split(b"\0"))
    for head in fields:
        if head:
            yield next(fields).decode(errors="surrogateescape"), head.split(b" ")[1]


def _parts(raw: bytes) -> list[list[bytes]]:
    """Return the diff lines of each file; content lines begin with a sign and cannot be mistaken for a header.

    A file that becomes a link, or vice versa, has two diffs under one header: removal and addition.
    """
    parts: list[list[bytes]] = []
    heading = b""
    for line in raw.split(b"\n"):
        if line.startswith(b"diff --git "):
            if line == heading:
                parts.pop()
            parts.append([])
            heading = line
        elif parts:
            parts[-1].append(line)
    return parts


def _file(name: str, lines: Iterable[bytes]) -> StagedFile:
    content: list[bytes] = []
    added: set[int] = set()
    inside = False
    for line in lines:
        if not inside:
            inside = _HUNK.match(line) is not None
        elif line[:1] in (b" ", b"+"):
            content.append(line[1:])
            if line[:1] == b"+":
                added.add(len(content))
    return StagedFile(name, b"\n".join(content), frozenset(added))
