"""The console's one draft: it survives a crash, and what replaces it keeps it among the recent drafts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from clawperator.app.console.execution.draft_file import RecentDraft, Store
from clawperator.app.console.execution.draft_model import Draft
from clawperator.engine.executions.snippets import pretty
from clawperator.engine.hierarchy.matcher import Matcher


class SelectorPick(NamedTuple):
    """A field that waits for a selector from the tree: its name, and what to do with the selector."""

    words: str
    then: Callable[[Matcher], object]


class DraftKeeper:
    """Saves the draft after every change, in order and off the event loop.

    ``changed`` is called after each change, ``warn`` with a sentence when the file could not be read or written.
    Nothing is written before the old file was read. Consoles share the file: the last change stands there, and the draft
    of another console that it replaces is one of the recent drafts.
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
        except (OSError, ValueError) as exc:
            self._warn(f"The draft of the last session could not be read: {getattr(exc, 'strerror', None) or exc}")
        else:
            if text.strip():
                self._restore(text)
        self._loaded.set()
        self._changed()

    def _restore(self, text: str) -> None:
        restored, added = Draft(), self.draft.steps
        restored.take(text.rstrip())
        restored.forget()
        if added and restored.unreadable:  # such text cannot take the added steps
            self.keep(RecentDraft(self._now(), "", text=text))
            return
        for step in added:
            restored.append(step)
        if not restored.empty:
            self.draft = restored

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
        self.reopen(pretty(dict(payload)), name, run_of)

    def reopen(self, text: str, name: str, run_of: str = "") -> None:
        """Make a text the draft, under a new command id."""
        self.leave()
        self.draft.take(text)
        self.name, self.run_of = name, run_of
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
            self.keep(RecentDraft(self._now(), self.name, text=self._kept_text()))

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
        if self._writer is None or self._writer.done():
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
        from clawperator.engine.events.typed_text import text_without_typed

        return text_without_typed(self.text())

    async def _write(self) -> None:
        await self._loaded.wait()
        while self._unsaved:
            self._unsaved = False
            try:
                theirs = await asyncio.to_thread(self._store.save, self._kept_text())
            except OSError as exc:
                self._warn(f"The draft could not be saved: {exc.strerror or exc}")
            else:
                if theirs:
                    self.keep(RecentDraft(self._now(), "of another console", text=theirs))
                    self._warn("This draft has replaced that of another console. O in mode 3 lists recent drafts")

    async def close(self) -> None:
        """Wait until the last change is saved."""
        if self._writer is not None and self._loaded.is_set():
            await self._writer
        if self._keeping is not None:
            await self._keeping
