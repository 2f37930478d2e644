"""Files of mode 3: save, open, recent drafts, and the user's own editor."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from textual.app import SuspendNotSupported

from clawperator.app.console.chips import count_words
from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.draft import DraftKeeper
from clawperator.app.console.execution.draft_file import RecentDraft
from clawperator.app.console.external_editor import NoEditorError, edit, editor_command
from clawperator.app.console.run.draft_area import DraftArea
from clawperator.app.console.screens.dialogs import ListDialog
from clawperator.app.console.screens.file_dialogs import ask_path, reason_of, save_text
from clawperator.app.console.screens.menu import ask
from clawperator.app.console.text_files import read_text
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import snippets
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import Slot, ready
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import time_ago


class RecentDraftsDialog(ListDialog):
    """Asks for a recent draft. Answers it, or ``None``."""

    TITLE_TEXT = "recent drafts"
    NOTE = "⏎ open · esc"
    EMPTY = "No recent drafts yet. Replaced drafts and payload files are listed here."

    def __init__(self, drafts: Sequence[RecentDraft]) -> None:
        super().__init__()
        self._drafts = drafts

    def rows(self, width: int) -> Iterator[Slot]:
        for draft in self._drafts:
            line = Line(width).add(" ").device(draft.path or draft.name or "draft", "strong", room=44)
            if actions := draft.actions:
                line.add(f"  {count_words(len(actions), 'step')}  ", "text").device(", ".join(actions[:8]), "muted")
            right = Line().add(f"{time_ago(self.clock.now() - draft.at)} ", "faint")
            yield ready(Row(line, right), draft, quiet=False)


class DraftFiles:
    """The actions with files of the draft that ``area`` shows."""

    def __init__(self, area: DraftArea) -> None:
        self._area = area
        self.path = ""
        self.saved = 0
        """The generation of the draft that is saved at ``path``."""

    @property
    def console(self) -> ExecutionConsole:
        return self._area.console

    @property
    def keeper(self) -> DraftKeeper:
        return self.console.drafts

    # -- saving

    def action_save_draft(self) -> None:
        """Save to the draft's file; ask for a name where it has none."""
        self._save(named=bool(self.path))

    def action_save_draft_as(self) -> None:
        self._save(named=False)

    def _save(self, *, named: bool) -> None:
        self._area.editor.settle()
        if self.keeper.draft.empty:
            self.console.say(Status.IDLE, "No steps yet: nothing to save")
            return
        generation = self.keeper.draft.generation

        def saved(path: str, written: Path) -> None:
            self.path, self.saved = path, generation
            line = snippets.file_line(str(written), self.console.session.device_id)
            self.console.say(Status.OK, f"Saved. Run it with: {line}")
            self._keep_path()
            self.keeper.announce()

        path = self.path or "draft.json"
        save_text(self.console, "save the draft", path, self.keeper.text(), saved, named=named)

    def _keep_path(self) -> None:
        path = Path(self.path).expanduser().absolute()
        self.keeper.keep(RecentDraft(self.console.clock.now(), path.name, str(path)))

    # -- opening

    def action_open_draft(self) -> None:
        self._area.editor.settle()
        ask_path(self.console, "open a payload as the draft", "open", self.path, self._open_from)

    def _open_from(self, path: str) -> None:
        self._area.run_worker(self._open(path), exit_on_error=True)

    async def _open(self, path: str) -> None:
        try:
            payload = parse_json(await asyncio.to_thread(read_text, Path(path)))
            self.keeper.leave()
            self.keeper.draft.open(payload)
        except EngineError as exc:
            self.console.say(Status.FAILED, f"{path} is not a payload: {exc.message}", exc.code.value)
        except (OSError, ValueError, RuntimeError) as exc:
            self.console.say(Status.FAILED, f"{path} was not opened: {reason_of(exc)}")
        else:
            self.path, self.saved = path, self.keeper.draft.generation
            self._keep_path()
            self.keeper.name, self.keeper.run_of = "", ""
            self.keeper.touch()
            self.console.say(Status.OK, f"{len(self.keeper.draft)} steps of {path}. u restores the previous draft")

    # -- new and recent drafts

    def action_new_draft(self) -> None:
        self._area.editor.settle()
        self.keeper.new()
        self.path = ""
        self.console.say(Status.OK, "New draft. u restores the previous one, O lists recent drafts")

    def action_recent_drafts(self) -> None:
        self._area.editor.settle()
        self._area.run_worker(self._ask_recent(), exit_on_error=True)

    async def _ask_recent(self) -> None:
        found = await self.keeper.recent()
        ask(self.console, RecentDraftsDialog(found), self._open_recent)

    def _open_recent(self, chosen: RecentDraft) -> None:
        if chosen.path:
            self._open_from(chosen.path)
        else:
            self.keeper.reopen(chosen.text, chosen.name)
            self.path = ""
            self.console.say(Status.OK, "The recent draft is open. u restores the previous one")

    # -- the user's own editor

    def action_external_editor(self) -> None:
        self._area.editor.settle()
        try:
            command = editor_command(os.environ, web=self._area.app.is_web)
        except NoEditorError as exc:
            self.console.say(Status.IDLE, f"{exc}. e edits the JSON here")
        else:
            self._area.run_worker(self._edit(command), exit_on_error=True)

    async def _edit(self, command: list[str]) -> None:
        before = self.keeper.draft.text
        try:
            text = await edit(self._area.app, command, f"{before}\n")
        except SuspendNotSupported:
            self.console.say(Status.IDLE, "This terminal cannot run an editor. e edits the JSON here")
            return
        except (OSError, ValueError) as exc:
            self.console.say(Status.FAILED, f"The draft is unchanged: {reason_of(exc)}")
            return
        finally:
            self._area.app.refresh(layout=True)
        self.keeper.draft.rest()
        self.keeper.write(text.rstrip())
        self.keeper.draft.rest()
        _, problems = self.keeper.draft.check()
        changed = self.keeper.draft.text != before
        if not changed:
            self.console.say(Status.IDLE, "Nothing changed in the editor")
        elif problems:
            self.console.say(
                Status.WARN, f"Updated, with {len(problems)} problem{'s' * (len(problems) != 1)}. ] goes to the first"
            )
        else:
            self.console.say(Status.OK, "Updated, no problems. u restores the previous draft")
