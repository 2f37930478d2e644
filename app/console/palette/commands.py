"""Palette commands without a key of their own: dumps, apps and links, pictures of the console, the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.palette.search import PaletteConsole
from clawperator.app.console.screens.file_dialogs import ask_path, save_text
from clawperator.app.console.screens.menu import PaletteEntry
from clawperator.engine.errors import EngineError
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.facade import Engine

_REPORT_LINES = 200
CONFIRM = {
    "always": "Ask before every action that changes the device",
    "doubtful": "Ask only if several or no nodes match, or the tree is out of date",
    "never": "Send actions at once",
}
_NO_DEVICE = "no device is selected. 7 lists the devices, D chooses one"
_NO_TREE = "there is no tree yet; press r to take one"


class CommandsConsole(PaletteConsole, ExecutionConsole, Protocol):
    """What the commands act on."""

    def run_doctor(self) -> None: ...
    def look_at_files(self, paths: Sequence[str]) -> None: ...
    def toggle_ascii(self) -> None: ...
    def export_screenshot(self, *, title: str | None = None) -> str: ...


class PaletteCommands:
    """The palette's entries beyond keys and menus."""

    def __init__(self, console: CommandsConsole) -> None:
        self._console = console

    def entries(self) -> Iterator[PaletteEntry]:
        console, session = self._console, self._console.session
        no_tree = "" if session.trees.shown.xml else _NO_TREE
        yield PaletteEntry("Snapshot: open file…", "Show a saved dump; D returns to a device", self.open_dump)
        yield PaletteEntry("Snapshot: save as…", "Write the shown dump to a file", self.save_dump, no_tree)
        at_rest = console.why_not("act_menu") or ("" if session.device_id else _NO_DEVICE)
        yield PaletteEntry(
            "Open app…", "Start an app by its package", partial(console.dispatcher.open, "open_app"), at_rest
        )
        yield PaletteEntry("Open URI…", "Open a link in its app", partial(console.dispatcher.open, "open_uri"), at_rest)
        yield PaletteEntry("Doctor: run", "Check host, device and Operator app again", console.run_doctor)
        spelling = "Draw with line and block characters" if console.symbols.ascii else "Draw with ASCII characters only"
        yield PaletteEntry("Settings: ASCII on or off", spelling, console.toggle_ascii)
        for choice, about in CONFIRM.items():
            if choice != console.dispatcher.confirm:
                choose = partial(setattr, console.dispatcher, "confirm", choice)
                yield PaletteEntry(f"Settings: confirm actions: {choice}", about, choose)
        yield PaletteEntry("Console: save a picture (SVG)…", "Write the current screen to a file", self.save_picture)
        yield PaletteEntry(
            "Console: report a problem…", "Bundle for a bug report, without screens and payloads", self.report
        )

    # -- dumps

    def open_dump(self) -> None:
        ask_path(self._console, "open a saved dump", "open", "", self._open)

    def _open(self, path: str) -> None:
        if not Path(path).expanduser().is_file():
            self._console.say(Status.WARN, f"{sentence(path)} is not a file")
            return
        self._console.look_at_files([str(Path(path).expanduser())])

    def save_dump(self) -> None:
        snapshot = self._console.session.trees.shown
        self.save_text("save the dump", f"{snapshot.package or 'screen'}.xml", snapshot.xml)

    # -- the console itself

    def save_picture(self) -> None:
        """Save what was shown below the palette."""
        self.save_text(
            "save a picture of the console", "console.svg", self._console.export_screenshot(title="clawperator")
        )

    def report(self) -> None:
        """Write the bundle of ``clawperator report``."""
        ask_path(self._console, "report a problem", "write", "clawperator-report.zip", self._report)

    def _report(self, path: str) -> None:
        self._console.run_worker(self._reported(path), exit_on_error=True)

    async def _reported(self, path: str) -> None:
        from clawperator.engine.bundles import report

        console = self._console
        if console.session.remote or not hasattr(console.engine, "settings"):
            whose = (
                "A server reports on its own computer"
                if console.session.remote
                else "Saved dumps have nothing to report"
            )
            console.say(Status.IDLE, f"{whose}. Run: clawperator report")
            return
        try:
            bundle, size = await report.make(
                cast("Engine", console.engine),
                str(Path(path).expanduser()),  # noqa: ASYNC240 -- asks no disk
                lines=_REPORT_LINES,
                on_part=partial(console.say, Status.RUNNING),
            )
        except EngineError as exc:
            console.say(Status.FAILED, exc.message, exc.code.value)
        else:
            words = f"{size:,} bytes in {sentence(path)}: {len(bundle.files)} files, no screens and no payloads"
            console.say(Status.OK, words)

    # -- files

    def save_text(self, title: str, path: str, text: str) -> None:
        """Ask for a path, beginning with ``path``, and write ``text`` there."""
        console = self._console
        save_text(
            console, title, path, text, lambda _, written: console.say(Status.OK, f"Saved {sentence(str(written))}")
        )
