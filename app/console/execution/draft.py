"""The console's one draft: it survives a crash, and is never lost to another console."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from clawperator.app.console.execution.draft_file import ChangedElsewhereError, RecentDraft, Store
from clawperator.app.console.execution.draft_model import Draft
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.snippets import pretty
from clawperator.engine.hierarchy.matcher import Matcher


class SelectorPick(NamedTuple):
    """A field that waits for a selector from the tree: its name, and what to do with the selector."""

    words: str
    then: Callable[[Matcher], object]


_UNREADABLE = "unreadableText"
"""The key under which text that is not an execution is stored: the file is JSON in any case."""


class DraftKeeper:
    """Saves the draft after every change, in order and off the event loop.

    ``changed`` is called after each change, ``warn`` with a sentence when the file could not be read or written.
    Nothing is written before the old file was read, and nothing over the draft of another console: then ``conflict`` is
    set until the user chooses one of the two.
    """

    def __init__(
        self,
        store: Store,
        changed: Callable[[], object],
        warn: Callable[[str], object],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.draft = Draft()
        self._now = now
        self._store = store
        self._changed = changed
        self._warn = warn
        self._unsaved = False
        self._loaded = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self.conflict = False
        self.ran = ""
        """The command id under which the draft, in its current state, was last sent."""
        self.last_run = ""
        """The command id under which any draft was last sent."""
        self.last_after = 0
        """The number of the last run that the stream had then."""
        self.name = ""
        """Where the draft came from, in words; empty for one composed here."""
        self.run_of = ""
        """The command id of the run that the draft came from."""
        self.pick: SelectorPick | None = None
        """What mode 1 is asked for."""

    async def open(self) -> None:
        """Read the draft of the last session; steps added before that follow its steps."""
        try:
            text = await asyncio.to_thread(self._store.load)
            if text is not None:
                self._restore(_restored(text))
        except (OSError, ValueError, EngineError) as exc:
            await self._keep_aside(exc)
        self._loaded.set()
        self._changed()

    def _restore(self, restored: Draft) -> None:
        added = self.draft.steps
        restored.forget()
        if added and restored.unreadable:
            return  # keep the added steps: unreadable text cannot take them
        for step in added:
            restored.append(step)
        if not restored.empty:
            self.draft = restored

    async def _keep_aside(self, exc: Exception) -> None:
        reason = exc.message if isinstance(exc, EngineError) else getattr(exc, "strerror", None) or str(exc)
        try:
            where = await asyncio.to_thread(self._store.set_aside)
        except OSError:
            self._warn(f"The draft of the last session could not be read: {reason}")
        else:
            self._warn(f"The draft of the last session could not be read: {reason}. It is kept as {where}")

    # -- changes

    def append(self, *steps: Mapping[str, Any]) -> int:
        """Append steps; return the number of all steps. Raises ``ValueError`` while the text is unreadable."""
        count = self.draft.append(*steps)
        self.touch()
        return count

    def put(self, steps: Iterable[Mapping[str, Any]]) -> None:
        self.draft.put(steps)
        self.touch()

    def write(self, text: str) -> bool:
        """Replace the draft by JSON text; return whether that changed anything."""
        generation = self.draft.generation
        self.draft.write(text)
        changed = self.draft.generation != generation
        if changed:
            self.touch()
        return changed

    def load(self, payload: Mapping[str, Any], *, name: str = "", run_of: str = "") -> None:
        """Make a payload the draft, under a new command id. ``name`` says where it is from."""
        self.leave()
        try:
            self.draft.open(dict(payload))
        except ValueError:
            self.draft.write(pretty(dict(payload)))
        self.draft.rest()
        self.name, self.run_of = name, run_of
        self.touch()

    def reopen(self, recent: RecentDraft) -> None:
        """Make a recent draft the draft, under a new command id."""
        self.leave()
        try:
            self.draft.open(parse_json(recent.text))
        except (ValueError, EngineError):
            self.draft.write(recent.text)
            self.draft.rest()
        self.name, self.run_of = recent.name, ""
        self.touch()

    def new(self) -> None:
        """Begin an empty draft."""
        self.leave()
        self.draft.clear()
        self.name = self.run_of = ""
        self.touch()

    def leave(self) -> None:
        """Keep the draft among the recent ones: it is replaced now."""
        self.draft.rest()
        if not self.draft.empty:
            self.keep(RecentDraft(self._now(), self.name, text=_kept(self.draft.text)))

    def keep(self, draft: RecentDraft) -> None:
        """Add to the recent drafts, in order and off the event loop."""
        before = self._keeping

        async def write() -> None:
            if before is not None:
                await before
            try:
                await asyncio.to_thread(self._store.keep, draft)
            except OSError as exc:
                self._warn(f"The recent drafts could not be saved: {exc.strerror or exc}")

        self._keeping = asyncio.create_task(write(), name="recent drafts")

    async def recent(self) -> list[RecentDraft]:
        """Return the recent drafts, newest first."""
        if self._keeping is not None:
            await self._keeping
        return await asyncio.to_thread(self._store.recent)

    def touch(self) -> None:
        """Save the changed draft."""
        self.ran = ""
        self._unsaved = True
        if not self.conflict and (self._writer is None or self._writer.done()):
            self._writer = asyncio.create_task(self._write(), name="draft")
        self._changed()

    def announce(self) -> None:
        """Request a redraw of the draft."""
        self._changed()

    def sent(self, command_id: str, after: int = 0) -> None:
        """Note that the draft was sent under this id, as a run with a number after ``after``; the next one gets another."""
        self.draft.sent()
        self.ran = self.last_run = command_id
        self.last_after = after
        self._changed()

    def text(self) -> str:
        """Return the payload file of the draft."""
        return f"{self.draft.text.rstrip()}\n"

    def _kept_text(self) -> str:
        """Return what is saved by itself: without typed text, which only a file that the user saves holds."""
        text = _kept(self.draft.text)
        return f"{json.dumps({_UNREADABLE: text})}\n" if self.draft.unreadable else f"{text.rstrip()}\n"

    async def _write(self) -> None:
        await self._loaded.wait()
        while self._unsaved and not self.conflict:
            self._unsaved = False
            try:
                await asyncio.to_thread(self._store.save, self._kept_text())
            except ChangedElsewhereError:
                self.conflict = self._unsaved = True
                self._warn("Another console has changed the draft. Press 3 to choose one of the two")
                self._changed()
            except OSError as exc:
                self._warn(f"The draft could not be saved: {exc.strerror or exc}")

    # -- two consoles, one file

    async def take_theirs(self) -> None:
        """Replace this draft by the other console's; undo restores it."""
        try:
            text = await asyncio.to_thread(self._store.load)
            theirs = _restored(text) if text is not None else Draft()
        except (OSError, ValueError, EngineError) as exc:
            self._warn(f"The other console's draft could not be read: {exc}")
            return
        self.conflict = self._unsaved = False
        self.leave()
        self.draft.write(theirs.text) if not theirs.empty else self.draft.clear()
        self.ran = ""
        self._changed()

    async def keep_mine(self) -> None:
        """Replace the other console's draft by this one."""
        try:
            await asyncio.to_thread(self._store.load)
        except (OSError, ValueError):
            pass  # it is replaced
        self.conflict = False
        self.touch()

    async def close(self) -> None:
        """Wait until the last change is saved."""
        if self._keeping is not None:
            await self._keeping
        if self._writer is not None and self._loaded.is_set():
            await self._writer


def _kept(text: str) -> str:
    """Return the text of a draft as it is kept: typed text is only in files that the user saves."""
    from clawperator.engine.events.typed_text import text_without_typed

    return text_without_typed(text)


def _restored(text: str) -> Draft:
    """Return the draft that was saved as ``text``. Raises ``EngineError`` and ``ValueError``."""
    payload = parse_json(text)
    draft = Draft()
    if isinstance(payload, dict) and payload.keys() == {_UNREADABLE} and isinstance(payload[_UNREADABLE], str):
        draft.write(payload[_UNREADABLE])
    else:
        draft.open(payload)
    return draft
