"""The dialog that pairs a phone over Wi-Fi by QR code. Closing it cancels the pairing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip
from textual.widget import Widget

from clawperator.app.console.console_engine import ConsoleEngine
from clawperator.app.console.screens.live_dialog import LiveDialog
from clawperator.app.console.session import Facet
from clawperator.app.qr import NARROW, modules, plain
from clawperator.engine.errors import EngineError
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.line_widget import AppValues
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.text.times import duration

if TYPE_CHECKING:
    from clawperator.engine.adb.pairing import Paired, QrOffer
    from clawperator.engine.adb.reachability import Connected
    from clawperator.engine.progress import Stage

_STEPS = {"discover": "wait for the scan", "pair": "pair", "find": "find the phone", "connect": "connect"}
_WHERE = "On the phone: Settings, Developer options, Wireless debugging, Pair device with QR code. Point the camera at this code."
_NETWORK = "Phone and computer must be in the same network."
_PAGE = Style(color="#000000", bgcolor="#ffffff")


class QrCode(AppValues, Widget):
    """A QR code, black on white; without colours its light modules, which is correct on a dark terminal."""

    DEFAULT_CSS = "QrCode { width: auto; height: auto; margin: 0 1 0 0; }"

    _lines: Sequence[str] = ()

    @property
    def _coloured(self) -> bool:
        return self.app.theme != "claw-mono"

    def show(self, payload: str) -> None:
        """Draw ``payload`` with the narrow border; empty for none."""
        rows = modules(payload, NARROW) if payload else []
        self._lines = plain(rows, dark=self._coloured, blocks=not self.symbols.ascii) if rows else []
        self.display = bool(payload)
        self.refresh(layout=True)

    def get_content_width(self, *_: object) -> int:
        return len(self._lines[0]) if self._lines else 0

    def get_content_height(self, *_: object) -> int:
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        line = self._lines[y] if y < len(self._lines) else ""
        return Strip([Segment(line, _PAGE if self._coloured else Style.null())], len(line))


class PairDialog(LiveDialog):
    """Offers a QR code, pairs with the phone that scans it, and connects."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]
    DEFAULT_CSS = "PairDialog Horizontal { height: auto; }"

    def __init__(self, engine: ConsoleEngine) -> None:
        super().__init__("pair a phone over Wi-Fi")
        self._engine = engine
        self._code = QrCode()
        self._stages: dict[str, Stage] = {}
        self._end: tuple[Status, str] | None = None

    def compose_question(self) -> ComposeResult:
        with Horizontal():
            yield self._code
            yield WrappedText(self._rows, id="pairing")

    def on_mount(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._stages, self._end = {}, None
        self.run_worker(self._pair(), exclusive=True)

    async def _pair(self) -> None:
        try:
            wireless = self._engine.wireless
            paired = await wireless.pair_by_qr(self._offer, on_progress=self._progress)
            self._code.show("")
            connected = await wireless.connect_paired(paired, on_progress=self._progress)
        except EngineError as error:
            hint = f" {error.hint}" if error.hint else ""
            self._ended(Status.FAILED, f"{error.message}.{hint}".replace("..", "."))
        else:
            self._ended(*_result(paired, connected))

    def _offer(self, offer: QrOffer) -> None:
        self._code.show(offer.payload)

    def _progress(self, stage: Stage) -> None:
        self._stages[stage.name] = stage
        self.draw(Facet.NOTHING)

    def _ended(self, status: Status, words: str) -> None:
        self._code.show("")
        self._end = (status, words)
        self.draw(Facet.NOTHING)

    def action_go(self) -> None:
        if self._end is None:
            return
        if self._end[0] is Status.OK:
            self.dismiss()
        else:
            self._begin()

    # -- drawing

    def draw(self, changed: Facet) -> None:  # noqa: ARG002  # the base's own signature
        if not self.query(KeyBar):  # cancelled with the dialog
            return
        failed = self._end is not None and self._end[0] is not Status.OK
        last = ("escape", "close" if self._end else "cancel")
        self.show_keys(*(("enter", "try again"),) * failed, last)
        self.query_one("#pairing", WrappedText).fold()

    def _rows(self, width: int) -> Iterator[Row]:
        if self._end is None:
            yield from wrapped(_WHERE, width)
            yield Row(Line(width))
            yield from wrapped(_NETWORK, width, "muted")
            yield Row(Line(width))
        for name, stage in self._stages.items():
            status = {"running": Status.RUNNING, "done": Status.OK}.get(stage.state, Status.FAILED)
            line = Line(width).add(f" {self.symbols.sign(status)} ", status.role).add(_STEPS.get(name, name))
            if stage.state == "running" and stage.limit_ms:
                line.add(f"  {duration(stage.elapsed_ms / 1000)} of {stage.limit_ms / 1000:.0f} s", "muted")
            yield Row(line)
        if self._end is not None:
            status, words = self._end
            yield Row(Line(width))
            yield from wrapped(words, width, lead=f" {self.symbols.sign(status)} ", lead_role=status.role)


def _result(paired: Paired, connected: Connected | None) -> tuple[Status, str]:
    if connected is not None:
        return Status.OK, f"Paired and connected: {connected.serial}"
    host = paired.address.rpartition(":")[0]
    return (
        Status.OK,
        f"Paired with {host}, but adb does not see it yet. Run: clawperator devices connect {host}:<port of the Wireless debugging screen>",
    )
