"""What mode 3 does with files: saving, opening, the user's own editor, and two consoles over one draft."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import SuspendNotSupported

from clawperator.app.console.external_editor import NoEditorError, edit, editor_command
from clawperator.app.console.run.dispatch_dialogs import PathForm, QuestionDialog
from clawperator.app.console.run.draft import DraftKeeper, read_text, save_as
from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.app.console.screens.choice_dialog import ChoiceDialog
from clawperator.app.console.screens.menu import Choice
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import snippets
from clawperator.widgets import keys
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.status import Status


class DraftFilesScreen(ConsoleScreen):
    """Subclasses give ``settle``, and call ``ask_which_draft`` while the keeper has a conflict."""

    path = ""
    saved = 0
    """The generation of the draft that file ``path`` holds."""
    _asked = -1
    """The generation of the draft at which it was asked which of two is to stay."""

    @property
    def keeper(self) -> DraftKeeper:
        return self.console.drafts

    def settle(self) -> None:
        """Take over what has been typed and not been read yet."""
        raise NotImplementedError

    # -- saving

    def action_save_draft(self) -> None:
        self.settle()
        if self.keeper.draft.empty:
            self.console.say(Status.IDLE, "No steps yet: nothing to save")
            return
        form = PathForm("save the draft", "save", self.path or "draft.json", self.console.symbols)
        self.app.push_screen(form, self._save_to)

    def _save_to(self, answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            self.run_worker(self._save(answer["path"]), exit_on_error=True)

    async def _save(self, path: str, *, overwrite: bool = False) -> None:
        generation = self.keeper.draft.generation
        try:
            where = await asyncio.to_thread(
                save_as, Path(path), self.keeper.text(), guard=self.console.guard, overwrite=overwrite
            )
        except EngineError as exc:
            self.console.say(Status.FAILED, exc.message, exc.code.value)
        except FileExistsError:
            words = f"{sentence(path)} exists. Its content would be gone."
            question = QuestionDialog("replace a file", words, "replace", self.console.symbols)
            self.app.push_screen(question, partial(self._save_over, path))
        except (OSError, ValueError, RuntimeError) as exc:
            self.console.say(Status.FAILED, f"The draft was not saved: {_reason(exc)}")
        else:
            self.path, self.saved = path, generation
            line = snippets.file_line(str(where), self.session.device_id)
            self.console.say(Status.OK, f"Saved. {line} runs it")
            self.keeper.announce()

    def _save_over(self, path: str, yes: bool | None) -> None:
        if yes:
            self.run_worker(self._save(path, overwrite=True), exit_on_error=True)

    # -- opening

    def action_open_draft(self) -> None:
        self.settle()
        form = PathForm("open a payload as the draft", "open", self.path, self.console.symbols)
        self.app.push_screen(form, self._open_from)

    def _open_from(self, answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            self.run_worker(self._open(answer["path"]), exit_on_error=True)

    async def _open(self, path: str) -> None:
        try:
            text = await asyncio.to_thread(read_text, Path(path))
            self.keeper.draft.open(parse_json(text))
        except EngineError as exc:
            self.console.say(Status.FAILED, f"{path} is no payload: {exc.message}", exc.code.value)
        except (OSError, ValueError, RuntimeError) as exc:
            self.console.say(Status.FAILED, f"{path} was not opened: {_reason(exc)}")
        else:
            self.path, self.saved = path, self.keeper.draft.generation
            self.keeper.name, self.keeper.run_of = "", ""
            self.keeper.touch()
            self.console.say(Status.OK, f"{len(self.keeper.draft)} steps of {path}. u brings the former draft back")

    # -- the user's own editor

    def action_external_editor(self) -> None:
        self.settle()
        try:
            command = editor_command(os.environ, web=self.app.is_web)
        except NoEditorError as exc:
            self.console.say(Status.IDLE, f"{exc}. e edits the JSON here")
        else:
            self.run_worker(self._edit(command), exit_on_error=True)

    async def _edit(self, command: list[str]) -> None:
        before = self.keeper.draft.text
        try:
            text = await edit(self.app, command, f"{before}\n")
        except SuspendNotSupported:
            self.console.say(Status.IDLE, "This terminal cannot be given to an editor. e edits the JSON here")
            return
        except (OSError, ValueError) as exc:
            self.console.say(Status.FAILED, f"The draft stays as it was: {_reason(exc)}")
            return
        finally:
            self.app.refresh(layout=True)
        self.keeper.draft.rest()
        self.keeper.write(text.rstrip())
        self.keeper.draft.rest()
        _, problems = self.keeper.draft.check()
        changed = self.keeper.draft.text != before
        if not changed:
            self.console.say(Status.IDLE, "Nothing was changed in the editor")
        elif problems:
            self.console.say(
                Status.WARN, f"Taken over with {len(problems)} problem{'s' * (len(problems) != 1)}. ] leads to it"
            )
        else:
            self.console.say(Status.OK, "Taken over, and it can be run. u brings the former draft back")

    # -- two consoles

    def ask_which_draft(self) -> None:
        """Another console has written the file that keeps the draft: which of the two is to stay?"""
        if self._asked == self.keeper.draft.generation:
            return
        self._asked = self.keeper.draft.generation
        words = (
            "Another console has changed the draft since this one read it. Both keep it in the same file, which now holds "
            "the other one's."
        )
        choices = [Choice(item, item.tooltip, True) for item in keys.MENUS["two_drafts"]]
        self.app.push_screen(ChoiceDialog("two drafts", words, choices, self.console.symbols), self._decided)

    def _decided(self, choice: str | None) -> None:
        if choice == "load":
            self.run_worker(self.keeper.take_theirs(), exit_on_error=True)
        elif choice == "overwrite":
            self.run_worker(self.keeper.keep_mine(), exit_on_error=True)
        else:
            self.console.say(
                Status.WARN,
                "The draft is not written down until you say which one is to stay; the next change asks again",
            )


def _reason(exc: Exception) -> str:
    return getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
