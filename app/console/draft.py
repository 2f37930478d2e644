"""The draft: steps for an execution to come, with undo, and the file that keeps them through a crash."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.build import generated_id
from clawperator.engine.executions.spelling import pretty
from clawperator.engine.executions.steps import execution, with_own_ids
from clawperator.engine.executions.validate import Validated, validate

UNDO_KEPT = 200
MAX_FILE_BYTES = 4 * 1024 * 1024
"""As the command line reads at most; far above any payload that the contract allows."""
_OF_EACH_RUN = ("commandId", "actions")
"""What a payload that was opened does not hand down: no two runs share a command id. Nor does it hand down what a draft
would say by itself, which has to follow the steps: the budget grows with them."""


class Problem(NamedTuple):
    """Something that the contract refuses; ``step`` is the index of the step it is in, -1 where it is in none."""

    path: str
    message: str
    step: int = -1


@dataclass(frozen=True, slots=True)
class _State:
    steps: tuple[Mapping[str, Any], ...] = ()
    root: Mapping[str, Any] = field(default_factory=dict)


class Draft:
    """The steps and how they came about. Pure; ``generation`` changes with every change."""

    def __init__(self) -> None:
        self._state = _State()
        self._past: list[_State] = []
        self._command_id = generated_id("draft")
        self._payload: dict[str, Any] | None = None
        self._checked: tuple[Validated | None, Sequence[Problem]] | None = None
        self.generation = 0

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        return self._state.steps

    def __len__(self) -> int:
        return len(self._state.steps)

    # -- changes

    def append(self, step: Mapping[str, Any]) -> int:
        """Add a step at the end, under an id of its own; how many there are now."""
        *_, own = with_own_ids([*self.steps, step])
        self._change(steps=(*self.steps, own))
        return len(self)

    def delete(self, index: int) -> None:
        self._change(steps=(*self.steps[:index], *self.steps[index + 1 :]))

    def move(self, index: int, by: int) -> int:
        """Exchange a step with its neighbour; where it is now, which is where it was at either end."""
        to = index + by
        if not (0 <= index < len(self) and 0 <= to < len(self)):
            return index
        steps = list(self.steps)
        steps[index], steps[to] = steps[to], steps[index]
        self._change(steps=tuple(steps))
        return to

    def clear(self) -> None:
        self._change(steps=(), root={})

    def open(self, payload: object) -> None:
        """Take over the steps of a payload, faults included: they are shown, not repaired.

        Raises ``ValueError`` with the reason for what has no list of steps at all.
        """
        whole = payload if isinstance(payload, dict) else {}
        actions = whole.get("actions")
        if not (isinstance(actions, list) and all(isinstance(action, dict) for action in actions)):
            raise ValueError("it holds no list of actions")
        usual = execution(actions) | {"taskId": whole.get("commandId")}
        root = {key: value for key, value in whole.items() if key not in _OF_EACH_RUN and value != usual.get(key)}
        self._change(steps=tuple(deepcopy(actions)), root=deepcopy(root))

    def undo(self) -> bool:
        """Back to the state before the last change; whether there was one."""
        if not self._past:
            return False
        self._state = self._past.pop()
        self._changed()
        return True

    def forget(self) -> None:
        """Undo leads no further back than here."""
        self._past.clear()

    def _change(self, **parts: Any) -> None:
        state = _State(**{"steps": self._state.steps, "root": self._state.root, **parts})
        if state != self._state:
            self._past = [*self._past[-UNDO_KEPT + 1 :], self._state]
            self._state = state
            self._changed()

    def _changed(self) -> None:
        self.generation += 1
        self._payload = self._checked = None

    # -- what it comes to

    def payload(self) -> Mapping[str, Any]:
        """The execution as it would be saved and sent: the same command id until it was sent. It is made once per change."""
        if self._payload is None:
            whole = execution(self.steps) | {"taskId": self._command_id} | deepcopy(dict(self._state.root))
            self._payload = whole | {"commandId": self._command_id, "actions": deepcopy(list(self.steps))}
        return self._payload

    def sent(self) -> None:
        """The payload's command id is used up."""
        self._command_id = generated_id("draft")
        self._payload = self._checked = None

    def check(self) -> tuple[Validated | None, Sequence[Problem]]:
        """The normalised payload with the contract's advice, or everything that is wrong with it."""
        if self._checked is None:
            self._checked = self._check()
        return self._checked

    def _check(self) -> tuple[Validated | None, Sequence[Problem]]:
        try:
            return validate(self.payload()), ()
        except EngineError as exc:
            found = exc.details.get("issues") or [{"path": "", "message": exc.message}]
            return None, [Problem(item["path"], item["message"], _step_of(item["path"])) for item in found]


def _step_of(path: str) -> int:
    parts = path.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "actions" and parts[1].isdigit() else -1


# -- files


class Store(Protocol):
    """Where the draft survives the console. Both methods may block: they are called in a thread."""

    def load(self) -> str | None: ...
    def save(self, text: str) -> None: ...
    def set_aside(self) -> str: ...


class DraftFile:
    """One file that only its user can read, and that is replaced as a whole: a crash leaves the old one or the new one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> str | None:
        """The text; ``None`` when there is no file. Raises ``OSError``, or ``ValueError`` for one that is no text of ours."""
        try:
            return read_text(self.path)
        except FileNotFoundError:
            return None

    def save(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.path, text, mode=0o600)

    def set_aside(self) -> str:
        """Keep a file that cannot be read under another name, which is returned."""
        aside = next(
            name
            for number in range(1, 10_000)
            if not (name := self.path.with_name(f"{self.path.name}.unreadable-{number}")).exists()
        )
        os.replace(self.path, aside)
        return str(aside)


def draft_path() -> Path:
    """Where the draft is kept: the platform's state folder."""
    from platformdirs import user_state_path

    return user_state_path("clawperator") / "console" / "draft.json"


def read_text(path: Path) -> str:
    """The text of a file; ``~`` is the user's folder. Raises ``OSError``, and ``ValueError`` for what is too long or not UTF-8."""
    with path.expanduser().open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"more than {MAX_FILE_BYTES:,} bytes")
    return data.decode("utf-8-sig")


def save_as(path: Path, text: str, *, overwrite: bool = False) -> Path:
    """Write a file of the user's own; the path it has, links followed.

    Raises ``FileExistsError`` unless ``overwrite``, ``FileNotFoundError`` for a folder that is not there, other ``OSError``.
    """
    path = path.expanduser().resolve()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists")
    replace_file(path, text, mode=path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
    return path


def replace_file(path: Path, text: str, *, mode: int) -> None:
    """Write beside ``path``, then take its place at once."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    """The process's own; asking for it means setting it for a moment."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


class DraftKeeper:
    """The console's one draft, written down after every change, off the event loop and in order.

    ``changed`` is called after each change, ``troubled`` with a sentence when the file could not be read or written. Nothing
    is written before the old file was read: what a crash left behind is never replaced by an empty draft.
    """

    def __init__(self, store: Store, changed: Callable[[], object], troubled: Callable[[str], object]) -> None:
        self.draft = Draft()
        self._store = store
        self._changed = changed
        self._troubled = troubled
        self._unsaved = False
        self._loaded = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self.ran = ""
        """The command id under which the draft, as it is now, was last sent."""

    async def open(self) -> None:
        """Read what the last session left. Steps added meanwhile stay after those."""
        try:
            text = await asyncio.to_thread(self._store.load)
            if text is not None:
                self._restore(parse_json(text))
        except (OSError, ValueError, EngineError) as exc:
            await self._keep_aside(exc)
        self._loaded.set()
        self._changed()

    def _restore(self, payload: object) -> None:
        added = self.draft.steps
        restored = Draft()
        restored.open(payload)
        restored.forget()
        for step in added:
            restored.append(step)
        if len(restored):
            self.draft = restored

    async def _keep_aside(self, exc: Exception) -> None:
        reason = exc.message if isinstance(exc, EngineError) else getattr(exc, "strerror", None) or str(exc)
        try:
            where = await asyncio.to_thread(self._store.set_aside)
        except OSError:
            self._troubled(f"The draft of the last session could not be read: {reason}")
        else:
            self._troubled(f"The draft of the last session could not be read: {reason}. It is kept as {where}")

    # -- changes

    def append(self, step: Mapping[str, Any]) -> int:
        count = self.draft.append(step)
        self.touch()
        return count

    def touch(self) -> None:
        """The draft has changed: write it down."""
        self.ran = ""
        self._unsaved = True
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="draft")
        self._changed()

    def sent(self, command_id: str) -> None:
        """The draft is on its way under this id; the next run gets another."""
        self.draft.sent()
        self.ran = command_id
        self._changed()

    def text(self) -> str:
        """The payload file of the draft."""
        return f"{pretty(self.draft.payload())}\n"

    async def _write(self) -> None:
        await self._loaded.wait()
        while self._unsaved:
            self._unsaved = False
            try:
                await asyncio.to_thread(self._store.save, self.text())
            except OSError as exc:
                self._troubled(f"The draft could not be kept: {exc.strerror or exc}")

    async def close(self) -> None:
        """Until the last change is written."""
        if self._writer is not None and self._loaded.is_set():
            await self._writer
