"""Where long work is, on stderr: a line that is redrawn on a terminal, plain lines elsewhere, or JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clawperator.app.cli import diagnostics
from clawperator.app.cli.output import encode
from clawperator.engine.progress import Stage, Tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser

_BAR = 20
_SIGNS = {"running": "...", "done": "ok", "failed": "failed", "skipped": "skipped"}


def configure(parser: Parser) -> None:
    """The flag of a command that takes its time."""
    parser.switch("--json-progress", about="write progress to stderr as JSON Lines")


@contextmanager
def shown(options: Namespace) -> Iterator[Tell]:
    """What to tell stages to while a command works."""
    if options.json_progress:
        yield lambda stage: diagnostics.raw(encode(stage.to_dict()).decode())
        return
    story = _Redrawn() if diagnostics.is_terminal() else _Plain()
    try:
        yield story.tell
    finally:
        story.end()


class _Plain:
    """A line when a stage begins, one for each new message, and one when it has ended."""

    def __init__(self) -> None:
        self._last = ("", "", "")

    def tell(self, stage: Stage) -> None:
        now = (stage.name, stage.state, stage.message)
        if now != self._last and (stage.state != "running" or stage.message or self._last[0] != stage.name):
            diagnostics.note(story_line(stage))
        self._last = now

    def end(self) -> None:
        """Every line is written already."""


class _Redrawn:
    """One line for the running stage; what has ended stays above it."""

    def __init__(self) -> None:
        self._open = False

    def tell(self, stage: Stage) -> None:
        line = story_line(stage)
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


def story_line(stage: Stage) -> str:
    """One stage in words: ``wait_boot: 48 s of 180 s``."""
    parts = [f"{stage.name.replace('_', ' ')}: {_SIGNS[stage.state]}"]
    if stage.fraction is not None and stage.state == "running":
        full = round(min(max(stage.fraction, 0.0), 1.0) * _BAR)
        parts.append(f"[{'#' * full}{'.' * (_BAR - full)}] {stage.fraction:.0%}")
    if stage.elapsed_ms >= 1000:
        limit = f" of {stage.limit_ms / 1000:.0f} s" if stage.limit_ms and stage.state == "running" else ""
        parts.append(f"{stage.elapsed_ms / 1000:.0f} s{limit}" if limit else f"{stage.elapsed_ms / 1000:.1f} s")
    if stage.message:
        parts.append(stage.message)
    return "  ".join(parts)
