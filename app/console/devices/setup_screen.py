"""The dialog of the Operator setup: status, APK files, progress."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult

from clawperator.app.console.screens.file_dialogs import ask_path
from clawperator.app.console.screens.live_dialog import LiveDialog
from clawperator.app.console.session import Facet
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.setup import file_row, file_rows, installed_rows, progress_rows
from clawperator.widgets.format.slot import Slot, heading
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.row_panes import RowList, WrappedText

if TYPE_CHECKING:
    from clawperator.app.console.devices.console import DevicesConsole
    from clawperator.widgets.models.setup import ApkFile, SetupState

OTHER = "another file"
"""Value of the last row."""


class SetupDialog(LiveDialog):
    """Follows the setup of one device; closing it does not stop the setup."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("setup")]

    def __init__(self) -> None:
        super().__init__("Operator app")
        self._drawn: SetupState | None = None
        self._refused: ApkFile | None = None
        self._named_path = ""
        self._again = False

    @property
    def console(self) -> DevicesConsole:
        return cast("DevicesConsole", self.app)

    @property
    def setup(self) -> SetupState:
        return self.console.session.setup

    @property
    def busy(self) -> bool:
        job = self.setup.job
        return job is not None and job.running

    @property
    def choosing(self) -> bool:
        """Whether files are shown; else the progress or the result of a setup."""
        return self.setup.job is None or (self._again and not self.busy)

    def compose_question(self) -> ComposeResult:
        yield WrappedText(
            lambda width: [*installed_rows(self.setup, width, self.symbols), Row(Line(width))], id="installed"
        )
        yield RowList(id="files")
        yield WrappedText(self._chosen_rows, id="chosen")
        yield WrappedText(self._progress_rows, id="progress")

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#files"))

    # -- drawing

    def draw(self, changed: Facet) -> None:
        setup = self.setup
        if not changed and not self.busy:
            return
        files = self.query_one("#files", RowList)
        if setup is not self._drawn:
            begins = setup.files is not None and (self._drawn is None or self._drawn.files is None)
            files.show_rows(self._file_rows(setup))
            if begins:
                self._named_path = next((file.path for file in setup.files or () if not file.problem), "")
            self._to_named(files)
        self._drawn = setup
        for name in ("#files", "#chosen"):
            self.query_one(name).display = self.choosing
        self.query_one("#progress").display = not self.choosing
        if self.choosing and self.focused is None:
            self.set_focus(files)
        for name in ("#installed", "#chosen", "#progress"):
            self.query_one(name, WrappedText).fold()
        self._show_keys()

    def _file_rows(self, setup: SetupState) -> Iterator[Slot]:
        if setup.files is None:
            yield heading("Searching for APK files…")
            return
        yield heading(f"{'files' if setup.files else 'no APK file'} in {sentence(setup.folder)}")
        for file in setup.files:
            row = partial(file_row, file, setup, symbols=self.symbols)
            yield Slot(row, place=file.path, role="warn" if file.problem else "")
        yield Slot(lambda width: Row(Line(width).add(" another file…", "muted")), place=OTHER)

    def _chosen_rows(self, width: int) -> Iterator[Row]:
        yield Row(Line(width))
        yield from file_rows(self._file, self.setup, width, self.symbols)
        yield Row(Line(width))

    def _progress_rows(self, width: int) -> Iterator[Row]:
        job = self.setup.job
        if job is not None:
            yield from progress_rows(job, self.clock.now(), width, self.symbols)
        yield Row(Line(width))

    def _show_keys(self) -> None:
        if self.busy:
            self.show_keys(("C", "cancel"), ("escape", "close, setup continues"))
        elif self.choosing:
            self.show_keys(("enter", "install"), ("r", "refresh"), ("escape", "close"))
        else:
            self.show_keys(("enter", "choose a file"), ("escape", "close"))

    # -- choosing

    @property
    def _file(self) -> ApkFile | None:
        """The file under the cursor."""
        value = self.query_one("#files", RowList).value
        if value == OTHER:
            return self._refused
        return self.setup.file(str(value)) if value is not None else None

    @on(LinePane.CursorMoved, "#files")
    def _moved(self) -> None:
        self.query_one("#chosen", WrappedText).fold()

    @on(LinePane.RowChosen, "#files")
    def _row_chosen(self, message: LinePane.RowChosen) -> None:
        message.stop()
        self.action_choose()

    def action_choose(self) -> None:
        if self.busy:
            return
        if not self.choosing:
            self._again = True
            self.draw(Facet.SETUP)
            return
        file = self._file
        if file is not None and not file.problem:
            self._again = False
            self.console.operator_setup.install(file.path)
        elif self.query_one("#files", RowList).value == OTHER:
            ask_path(self.console, "APK of the Operator app", "use it", "~/", self._named)

    def _named(self, path: str) -> None:
        self.run_worker(self._take(path), exit_on_error=True)

    async def _take(self, path: str) -> None:
        file = await self.console.operator_setup.name_file(path)
        self._refused = file if file.problem else None
        self._named_path = "" if file.problem else file.path
        self._to_named(self.query_one("#files", RowList))  # may be in the list already
        self.query_one("#chosen", WrappedText).fold()

    def _to_named(self, files: RowList) -> None:
        """Move the cursor to the named file once it is in the list."""
        place = next((index for index, row in enumerate(files.rows) if row.place == self._named_path), None)
        if place is not None:
            self._named_path = ""
            files.move_to(place)

    # -- keys

    def action_go(self) -> None:
        self.action_choose()

    def action_cancel_setup(self) -> None:
        self.console.operator_setup.cancel()

    def action_look_again(self) -> None:
        if self.choosing:
            self.console.operator_setup.look(self.setup.serial)

    @on(KeyBar.Pressed)
    def _clicked(self, message: KeyBar.Pressed) -> None:
        message.stop()
        if message.key == "escape":
            self.action_close()
        elif message.key == "enter":
            self.action_choose()
        elif message.key == "C":
            self.action_cancel_setup()
        else:
            self.action_look_again()
