"""Clone or update the skills repository (skills.md#installing). A failure keeps the old checkout: see ``checkout.py``."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.lock import FileLock
from clawperator.engine.guard import Guard
from clawperator.engine.progress import JobProgress, OnProgress, StageProgress, unreported
from clawperator.engine.skills.checkout import StagedCheckout, StoppedError
from clawperator.engine.skills.git import QUICK_SECONDS, SECONDS, Git, GitError, paths, require_git
from clawperator.engine.skills.registry import FILE, FOLDER, checkout_folder, load_registry

REPOSITORY = "https://github.com/clawperator/clawperator-skills"
VARIABLE = "CLAWPERATOR_SKILLS_REPO"
DEFAULT_REF = "main"
JOB = "skills-sync"
STAGES = ("check_git", "check_changes", "fetch", "checkout", "verify", "replace", "done")

_REF = re.compile(r"(?!-)[A-Za-z0-9._/-]{1,250}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_URL = re.compile(r"(?:(?:https?|ssh|git|file)://|/)[!-~]+|(?![-/])[\w.-]+@[\w.-]+:[!-~]+", re.ASCII)
"""A URL, a folder, or ``user@host:path``; not ``helper::address``, which runs a program."""
_CHANGES_NAMED = 10

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The checkout in ``skills_dir`` is at ``commit`` of ``ref``; ``before`` is the previous commit, '' for none.

    ``offline``: the repository could not be reached, but the pinned ref was fetched before.
    """

    skills_dir: str
    registry_path: str
    ref: str
    commit: str
    before: str = ""
    offline: bool = False
    synced: bool = True
    warnings: tuple[dict[str, str], ...] = ()

    @property
    def message(self) -> str:
        where = f"{self.ref} ({self.commit[:12]})"
        if self.offline:
            return f"The skills are at {where}, from the last fetch. The repository could not be reached"
        if self.before == self.commit:
            return f"The skills are up to date at {where}"
        return f"The skills are at {where}"

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "synced": self.synced,
            "skillsDir": self.skills_dir,
            "registryPath": self.registry_path,
            "ref": self.ref,
            "commit": self.commit,
            "message": self.message,
        }
        if self.before and self.before != self.commit:
            document["previousCommit"] = self.before
        if self.offline:
            document["offline"] = True
        if self.warnings:
            document["warnings"] = list(self.warnings)
        return document


async def sync(
    settings: Settings,
    *,
    ref: str,
    on_progress: OnProgress = unreported,
    seconds: float = SECONDS,
    guard: Guard | None = None,
) -> SyncResult:
    """Clone the repository, or update the checkout to ``ref``: a branch, a tag or a commit.

    ``seconds`` is the time limit of one git command. A cancellation changes nothing, unless the new checkout is already in
    place; then the result is returned. Raises ``EngineError`` USAGE (invalid ref or URL), SKILLS_GIT_NOT_FOUND,
    SKILLS_SYNC_FAILED.
    """
    ref = checked_ref(ref)
    url, chosen = repository(settings.environment)
    folder = await asyncio.to_thread(os.path.realpath, checkout_folder(settings.environment))
    progress, began = JobProgress(JOB, on_progress), monotonic()
    with (guard or Guard(settings)).writing(folder):
        with progress.stage("check_git", seconds):
            await require_git(settings.environment)
        async with _staged_checkout(folder) as staged:
            job = _Job(settings.environment, staged, progress, ref, seconds)
            if await _in_thread(staged.is_checkout):
                result = await job.update(url if chosen else "", url)
            else:
                result = await job.clone(url)
    progress.done(result.message, monotonic() - began)
    return result


def checked_ref(ref: str) -> str:
    """Return ``ref`` if git cannot misinterpret it. Raises ``EngineError`` (USAGE)."""
    if _REF.fullmatch(ref) and ".." not in ref:
        return ref
    raise EngineError(
        ErrorCode.USAGE,
        f"Invalid ref: {ref[:100]!r}",
        hint="Use a branch, a tag or a commit of letters, digits, '.', '_', '/' and '-'. The first character must not be '-'.",
        details={"ref": ref[:250]},
    )


def repository(env: Mapping[str, str]) -> tuple[str, bool]:
    """Return the URL of the repository, and whether the environment defines it. Raises ``EngineError`` (USAGE)."""
    url = env.get(VARIABLE, "")
    if not url:
        return REPOSITORY, False
    if not _URL.fullmatch(url):
        raise EngineError(
            ErrorCode.USAGE,
            f"{VARIABLE} is not a repository: use an https, ssh, git or file URL, user@host:path, or an absolute path",
            details={"variable": VARIABLE},
        )
    return url, True


@asynccontextmanager
async def _staged_checkout(folder: str) -> AsyncIterator[StagedCheckout]:
    """Lock and create the staged checkout, and remove it afterwards."""
    staged = StagedCheckout(folder)
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        lock = FileLock(staged.lock_path)
    except OSError as exc:
        raise _failed(f"{exc.filename or folder}: {exc.strerror}", folder) from exc
    try:
        if not lock.try_acquire():
            raise EngineError(
                ErrorCode.SKILLS_SYNC_FAILED,
                "Another process is updating the skills",
                hint="Wait until it has finished.",
                details={"skillsDir": folder},
            )
        try:
            await _in_thread(staged.open)
            yield staged
        except OSError as exc:
            raise _failed(f"{exc.filename or folder}: {exc.strerror or exc}", folder) from exc
        finally:
            staged.stop.set()
            await _in_thread(staged.clear)
    finally:
        lock.close()


async def _in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread and wait for its end even when cancelled, because it uses the folder."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


class _Job:
    """One synchronisation in a staged checkout."""

    def __init__(
        self, env: Mapping[str, str], staged: StagedCheckout, progress: JobProgress, ref: str, seconds: float
    ) -> None:
        self._env = env
        self._staged = staged
        self._progress = progress
        self._ref = ref
        self._seconds = seconds
        self._git = Git(env, staged.new)
        self._offline = False

    async def clone(self, url: str) -> SyncResult:
        with self._stage("fetch") as stage:
            await self._remote(stage, Git(self._env), "clone", "--progress", "--", url, self._staged.new)
        with self._stage("checkout"):
            # a repository may have a default branch of another name
            if self._ref != DEFAULT_REF or await self._has(f"refs/remotes/origin/{DEFAULT_REF}"):
                await self._run("checkout", "--quiet", self._ref, "--")
        return await self._put_in_place("", None)

    async def update(self, wanted: str, default: str) -> SyncResult:
        """Update the checkout; ``wanted`` is the configured URL, or ''; ``default`` is for a checkout without a remote."""
        with self._stage("check_changes"):
            state = await self._state()
        with self._stage("fetch") as stage:
            await self._copy()
            await self._choose_origin(wanted, default)
            try:
                await self._remote(stage, self._git, "fetch", "--progress", "--prune", "--tags", "--force", "origin")
            except EngineError as exc:
                if not await self._pinned():
                    exc.hint = f"The skills were not changed and stay at {state[0][:12]}. Tags and commits that were fetched before need no network."
                    raise
                self._offline = True
        with self._stage("checkout"):
            await self._run("checkout", "--quiet", self._ref, "--")
            if branch := await self._branch():
                await self._run("merge", "--ff-only", "--quiet", f"refs/remotes/origin/{branch}")
        return await self._put_in_place(state[0], state)

    async def _copy(self) -> None:
        try:
            await _in_thread(self._staged.copy)
        except StoppedError:  # only after a cancellation
            raise asyncio.CancelledError from None
        except asyncio.CancelledError:
            self._staged.stop.set()
            raise

    async def _choose_origin(self, wanted: str, default: str) -> None:
        try:
            known = (await self._git.run("remote", "get-url", "origin", seconds=QUICK_SECONDS)).text
        except GitError:
            await self._run("remote", "add", "origin", wanted or default)
            return
        if wanted and known != wanted:
            await self._run("remote", "set-url", "origin", wanted)

    async def _pinned(self) -> bool:
        """Return whether the ref is a tag or a commit that was fetched before."""
        if await self._has(f"refs/tags/{self._ref}"):
            return True
        return bool(_COMMIT.fullmatch(self._ref)) and await self._has(f"{self._ref}^{{commit}}")

    async def _has(self, name: str) -> bool:
        try:
            await self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, seconds=QUICK_SECONDS)
        except GitError:
            return False
        return True

    async def _branch(self) -> str:
        """Return the current branch; '' for a tag or a commit."""
        try:
            head = await self._git.run("symbolic-ref", "--quiet", "HEAD", seconds=QUICK_SECONDS)
        except GitError:
            return ""
        return head.text.removeprefix("refs/heads/")

    async def _state(self) -> tuple[str, str]:
        """Return commit and HEAD of the existing checkout. Raises ``EngineError`` for uncommitted changes."""
        folder = self._staged.folder
        git = Git(self._env, folder)
        status = ("--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--no-renames", "-z")
        try:
            changed = paths((await git.run(*status, seconds=self._seconds)).raw)
            commit = (await git.run("rev-parse", "--verify", "HEAD", seconds=QUICK_SECONDS)).text
            head = (await git.run("rev-parse", "--abbrev-ref", "HEAD", seconds=QUICK_SECONDS)).text
        except GitError as exc:
            raise _failed(str(exc), folder) from exc
        if changed:
            names = [line[3:] for line in changed[:_CHANGES_NAMED]]
            more = f" and {len(changed) - len(names)} more" if len(changed) > len(names) else ""
            raise _failed(
                f"The checkout {folder} has uncommitted changes: {', '.join(names)}{more}",
                folder,
                hint="Commit them, or run `git stash`.",
                changes=names,
            )
        return commit, head

    async def _put_in_place(self, before: str, state: tuple[str, str] | None) -> SyncResult:
        folder = self._staged.folder
        registry = os.path.join(folder, FOLDER, FILE)
        with self._stage("verify"):
            warnings = await _in_thread(self._verify)
            commit = (await self._run("rev-parse", "--verify", "HEAD")).strip()
            if state is not None and await self._state() != state:
                raise _failed(f"The checkout {folder} was changed during the update", folder, hint="Try again.")
        result = SyncResult(folder, registry, self._ref, commit, before, self._offline, warnings=tuple(warnings))
        with self._stage("replace"):
            replacing = asyncio.ensure_future(asyncio.to_thread(self._staged.replace))
            try:
                await asyncio.shield(replacing)
            except asyncio.CancelledError:
                await asyncio.wait({replacing})
                replacing.result()  # too late to cancel
        return result

    def _verify(self) -> list[dict[str, str]]:
        """Return the warnings of the new checkout's registry. Raises ``SKILLS_SYNC_FAILED`` if it is unusable."""
        folder = self._staged.folder
        try:
            return load_registry(os.path.join(self._staged.new, FOLDER, FILE)).warnings
        except EngineError as exc:
            path = os.path.join(folder, FOLDER, FILE)
            why = exc.details.get("reason") or exc.message
            message = f"{self._ref} has no usable registry at {path}: {why}"
            raise _failed(message, folder, path=path, reason=why) from exc

    async def _remote(self, stage: StageProgress, git: Git, *arguments: str) -> None:
        """Run a command that connects to the repository and report its progress."""
        try:
            await git.run(*arguments, seconds=self._seconds, on_line=stage.line)
        except GitError as exc:
            raise _failed(str(exc), self._staged.folder) from exc

    async def _run(self, *arguments: str) -> str:
        try:
            return (await self._git.run(*arguments, seconds=self._seconds)).text
        except GitError as exc:
            raise _failed(str(exc).replace(self._staged.new, self._staged.folder), self._staged.folder) from exc

    def _stage(self, name: str) -> Any:
        return self._progress.stage(name, self._seconds)


def _failed(message: str, folder: str, *, hint: str | None = None, **details: Any) -> EngineError:
    return EngineError(ErrorCode.SKILLS_SYNC_FAILED, message, hint=hint, details={"skillsDir": folder, **details})
