"""What is done now and then and has no key of its own: dumps as files, apps and links to open, pictures of the console."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawperator.app.console.palette import Entry
from clawperator.app.console.run.dispatch_dialogs import PathForm, QuestionDialog
from clawperator.app.console.run.draft import save_as
from clawperator.engine.errors import EngineError
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp

_REPORT_LINES = 200
_NO_DEVICE = "there is no device to act on. 7 shows what adb sees, D chooses"
_NO_TREE = "there is no tree yet; r takes one"


class Chores:
    """The palette's entries beyond keys and menus."""

    def __init__(self, console: ConsoleApp) -> None:
        self._console = console

    def entries(self) -> Iterator[Entry]:
        console, session = self._console, self._console.session
        no_tree = "" if session.trees.shown.xml else _NO_TREE
        yield Entry("Snapshot: open file…", "Look at a saved dump; D goes back to a device", self.open_dump)
        yield Entry("Snapshot: save as…", "Write the dump that is shown to a file", self.save_dump, no_tree)
        at_rest = console.why_not("act_menu") or ("" if session.device_id else _NO_DEVICE)
        yield Entry("Open app…", "Start an app by its package", partial(console.actor.open, "open_app"), at_rest)
        yield Entry("Open URI…", "A link, opened by the app for it", partial(console.actor.open, "open_uri"), at_rest)
        yield Entry("Doctor: run", "Check host, device and Operator app again", console.run_doctor)
        spelling = "Draw with line and block characters" if console.symbols.ascii else "Draw with ASCII characters only"
        yield Entry("Settings: ASCII on or off", spelling, self.toggle_ascii)
        yield Entry("Console: save a picture (SVG)…", "What is on screen now, as a file", self.save_picture)
        yield Entry(
            "Console: report a problem…", "A bundle without screens and payloads, for a bug report", self.report
        )

    # -- dumps

    def open_dump(self) -> None:
        self._ask("open a saved dump", "open", "", self._open)

    def _open(self, path: str) -> None:
        if not Path(path).expanduser().is_file():
            self._console.say(Status.WARN, f"{sentence(path)} is not a file")
            return
        self._console.look_at_files([str(Path(path).expanduser())])

    def save_dump(self) -> None:
        snapshot = self._console.session.trees.shown
        self.save_text("save the dump", f"{snapshot.package or 'screen'}.xml", snapshot.xml)

    # -- the console itself

    def toggle_ascii(self) -> None:
        console = self._console
        console.symbols = UNICODE if console.symbols.ascii else ASCII
        console.set_class(console.symbols.ascii, "-ascii")
        console.refresh_css(animate=False)
        for pane in console.screen.query(LineWidget):
            pane.refresh()
        mode = console.mode_screen
        if mode is not None:
            mode.redraw()

    def save_picture(self) -> None:
        """The palette has closed by then: what is saved is what was below it."""
        self.save_text(
            "save a picture of the console", "console.svg", self._console.export_screenshot(title="clawperator")
        )

    def report(self) -> None:
        """The bundle that ``clawperator report`` makes."""
        self._ask("report a problem", "write", "clawperator-report.zip", self._report)

    def _report(self, path: str) -> None:
        self._console.run_worker(self._reported(path), exit_on_error=True)

    async def _reported(self, path: str) -> None:
        from clawperator.engine.bundles import report
        from clawperator.engine.facade import Engine

        console = self._console
        if not isinstance(console.engine, Engine):
            whose = (
                "A server reports on its own computer"
                if console.session.remote
                else "Saved dumps have nothing to report"
            )
            console.say(Status.IDLE, f"{whose}. Run: clawperator report")
            return
        try:
            bundle, size = await report.make(
                console.engine,
                str(Path(path).expanduser()),  # noqa: ASYNC240
                lines=_REPORT_LINES,
                tell=partial(console.say, Status.RUNNING),
            )
        except EngineError as exc:
            console.say(Status.FAILED, exc.message, exc.code.value)
        else:
            words = f"{size:,} bytes in {sentence(path)}: {len(bundle.files)} files, no screens and no payloads"
            console.say(Status.OK, words)

    # -- files

    def save_text(self, title: str, path: str, text: str) -> None:
        """Ask where to, beginning with ``path``, and write ``text`` there."""
        self._ask(title, "save", path, partial(self._save, text))

    def _ask(self, title: str, verb: str, path: str, then: Any) -> None:
        def answered(answer: Mapping[str, Any] | None) -> None:
            if answer is not None:
                then(answer["path"])

        self._console.push_screen(PathForm(title, verb, path, self._console.symbols), answered)

    def _save(self, text: str, path: str) -> None:
        self._console.run_worker(self._write(text, path), exit_on_error=True)

    def _overwrite(self, text: str, path: str, yes: bool | None) -> None:
        if yes:
            self._console.run_worker(self._write(text, path, overwrite=True), exit_on_error=True)

    async def _write(self, text: str, path: str, *, overwrite: bool = False) -> None:
        console = self._console
        try:
            written = await asyncio.to_thread(save_as, Path(path), text, guard=console.guard, overwrite=overwrite)
        except EngineError as exc:
            console.say(Status.FAILED, exc.message, exc.code.value)
        except FileExistsError:
            question = QuestionDialog("overwrite", f"{path} exists.", "overwrite", console.symbols)
            console.push_screen(question, partial(self._overwrite, text, path))
        except OSError as exc:
            console.say(Status.FAILED, f"{sentence(path)} was not written: {exc.strerror or exc}")
        else:
            console.say(Status.OK, f"Saved {sentence(str(written))}")
