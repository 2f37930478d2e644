"""Progress of long work on stderr: a line that is redrawn on a terminal, plain lines elsewhere, or JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clawperator.app.cli import diagnostics
from clawperator.app.cli.output import encode
from clawperator.engine.progress import OnProgress, Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.command import Options

_BAR = 20
_STATES = {"running": "...", "done": "ok", "failed": "failed", "skipped": "skipped"}


@contextmanager
def shown(options: Options) -> Iterator[OnProgress]:
    """Yield what shows the stages of a command (``PROGRESS_FLAG``)."""
    if options.json_progress:
        yield lambda stage: diagnostics.raw(encode(stage.to_dict()).decode())
        return
    lines = _RedrawnLine() if diagnostics.is_terminal() else _PlainLines()
    try:
        yield lines.show
    finally:
        lines.end()


class _PlainLines:
    """A line when a stage begins, one for each new message, and one when it has ended."""

    def __init__(self) -> None:
        self._last = ("", "", "")

    def show(self, stage: Stage) -> None:
        now = (stage.name, stage.state, stage.message)
        if now != self._last and (stage.state != "running" or stage.message or self._last[0] != stage.name):
            diagnostics.note(stage_line(stage))
        self._last = now

    def end(self) -> None:
        """Every line is written already."""


class _RedrawnLine:
    """One line for the running stage, below those of the stages that have ended."""

    def __init__(self) -> None:
        self._open = False

    def show(self, stage: Stage) -> None:
        line = stage_line(stage)
        if stage.state == "running":
            diagnostics.redraw(line)
            self._open = True
        else:
            self.end()
            diagnostics.note(line)

    def end(self) -> None:
        if self._open:
            diagnostics.redraw("")
            self._open = False


def stage_line(stage: Stage) -> str:
    """Return one line about a stage: ``wait_boot: 48 s of 180 s``."""
    parts = [f"{stage.name.replace('_', ' ')}: {_STATES[stage.state]}"]
    if stage.fraction is not None and stage.state == "running":
        full = round(min(max(stage.fraction, 0.0), 1.0) * _BAR)
        parts.append(f"[{'#' * full}{'.' * (_BAR - full)}] {stage.fraction:.0%}")
    if stage.elapsed_ms >= 1000:
        limit = f" of {stage.limit_ms / 1000:.0f} s" if stage.limit_ms and stage.state == "running" else ""
        parts.append(f"{stage.elapsed_ms / 1000:.0f} s{limit}" if limit else f"{stage.elapsed_ms / 1000:.1f} s")
    if stage.message:
        parts.append(stage.message)
    return "  ".join(parts)
