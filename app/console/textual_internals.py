"""The only module of the console that uses names which Textual does not document. ``INTERNALS`` lists them for the test.

A Textual release that lacks one of them fails ``tests/app/console/test_textual_internals.py``.
"""

from __future__ import annotations

import asyncio
import codecs
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual._styles_cache import StylesCache
from textual.app import App
from textual.cache import LRUCache
from textual.color import Color
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.geometry import Size
from textual.message import Message
from textual.message_pump import MessagePump
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen

from clawperator.app.console.terminal_diff import TerminalDiff
from clawperator.widgets.text.safe import cells

if TYPE_CHECKING:
    from clawperator.app.console.escape import Piece

INTERNALS: tuple[tuple[type, str, str], ...] = (
    (StylesCache, "get_inner_outer", "its cache keeps painted lines of removed widgets alive; it is replaced by one that does not"),
    (Stylesheet, "_parse_cache", "shared by all screens, so that a source is parsed once per theme"),
    (Stylesheet, "_variables", "compared, so that the cache survives when no variable changed"),
    (RuleSet, "__hash__", "is its identity; the one of object is as well, and styling asks every rule for every widget"),
    (App, "_fatal_error", "overridden: Textual's report prints local variables, which hold device text"),
    (App, "_exception", "what ended the app"),
    (App, "_exit_renderables", "takes the report that is printed instead"),
    (App, "_display", "overridden: sends what differs from the last frame only"),
    (CompositorUpdate, "render_segments", "the sequence of a frame; replaced by the difference"),
    (App, "_close_messages_no_wait", "ends the app after it"),
    (MessagePump, "_on_message", "overridden: a dialog that has answered handles no message any more"),
    (Screen, "_screen_resized", "overridden: an opening dialog draws its first frame once"),
    (Screen, "_compositor", "knows the size that a dialog was laid out for"),
    (BackgroundScreen, "process_segments", "overridden: a colour is mixed once"),
    (App, "_build_driver", "overridden: the driver gets a file that has no errors, which would end its writer, and then who waits for it"),
    (DOMNode, "_bindings", "takes the keys of a menu's entries, so that a key of a burst finds them at once"),
)  # fmt: skip
"""Owner, name, and why it is used."""

ESC = "\x1b"
WAIT_SECONDS = 0.025
"""The rest of a sequence must come within this time; then Escape is reported."""
_SOURCES = 256
_COLOUR_PAIRS = 1024

setattr(  # noqa: B010  # not a method any more
    StylesCache,
    "get_inner_outer",
    staticmethod(lru_cache(_COLOUR_PAIRS)(partial(StylesCache.get_inner_outer.__wrapped__, StylesCache))),
)
setattr(RuleSet, "__hash__", object.__hash__)  # noqa: B010  # in C: a tenth of the time of styling a screen


@lru_cache(8)
def _rules_of(_variables: frozenset[tuple[str, str]]) -> LRUCache[tuple[object, ...], list[RuleSet]]:
    """Return the rules parsed so far with these variables of a theme."""
    return LRUCache(_SOURCES)


class CachedStylesheet(Stylesheet):
    """Parses a source once per process and theme; Textual parses all again when a screen is shown for the first time."""

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _rules_of(frozenset(variables.items()))

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            self._parse_cache = LRUCache(1)  # Textual clears the one that it finds
            super().set_variables(variables)
            self._parse_cache = _rules_of(frozenset(variables.items()))

    def reparse(self) -> None:
        self.parse()


class _ChangedCells(CompositorUpdate):
    """A frame as what it changes on the terminal."""

    def __init__(self, frame: CompositorUpdate, shown: TerminalDiff, columns: int) -> None:
        self._frame = frame
        self._shown = shown
        self._columns = columns

    def render_segments(self, console: Console) -> str:
        frame, shown, colours = self._frame, self._shown, console._color_system  # noqa: SLF001  # Strip.render uses it
        shown.resize(self._columns)
        if isinstance(frame, LayoutUpdate):
            shown.forget()
            for y, strips in enumerate(frame.strips, frame.region.y):
                shown.write(frame.region.x, y, strips, colours)
        elif isinstance(frame, ChopsUpdate):
            for y, left, right in frame.spans:
                for end, (x, strip) in zip(frame.chop_ends[y], frame.chops[y].items(), strict=False):
                    if strip is not None and x < right and end > left:
                        # what lies beyond the span has not been rendered
                        shown.write(x, y, (strip.crop(0, min(end, right) - x),), colours)
        else:
            return frame.render_segments(console)
        return shown.end()


def _in_cells(error: UnicodeError) -> tuple[str, int]:
    """Replace what the terminal's encoding lacks by as many cells; Python's stderr writes an escape sequence of several."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join("~" if character == "…" else "?" * cells(character) for character in lacking), error.end


class _Terminal:
    """The file of a terminal, for the thread that writes to it: an error would end that thread, and who waits for it."""

    def __init__(self, file: TextIOWrapper, lost: Callable[[], object]) -> None:
        self.fileno = file.fileno
        self._file = file
        self._lost = lost
        codecs.register_error("cells", _in_cells)

    def write(self, text: str) -> None:
        try:
            encoding = self._file.encoding
            self._file.write(text.encode(encoding, "cells").decode(encoding))
        except OSError:
            self._lost()

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            self._lost()


def _stdin_is_quiet() -> bool:
    """Wait for more input; return whether none came. The thread that reads the terminal does nothing else."""
    try:
        return sys.__stdin__ is None or not select.select([sys.__stdin__], [], [], WAIT_SECONDS)[0]
    except (OSError, ValueError):  # it was closed
        return True


def _in_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(call)


class EscapeParser:
    """Reports Escape after 25 ms. Textual's ``parser`` waits 100 ms, in ticks of 100 ms, and takes Escape and a key for Alt+key.

    It gets one whole key or sequence at a time, so that it does not wait. ``_timeout_time`` says that it does: it does not
    know the sequence, and would report its characters as keys. A driver's module names it, and calls ``feed`` and ``tick``.
    """

    def __init__(self, parser: Any, quiet: Callable[[], bool] = _stdin_is_quiet) -> None:
        from clawperator.app.console.escape import EscapeSplitter

        self._parser = parser
        self._pieces = EscapeSplitter()
        self._quiet = quiet

    def feed(self, data: str) -> Iterator[Message]:
        if not data:
            yield from self._parser.feed(data)
            return
        yield from self._messages(self._pieces.feed(data, time.monotonic()))
        if self._pieces.waits and self._quiet():
            yield from self._messages(self._pieces.expire(time.monotonic()))

    def tick(self) -> Iterator[Message]:
        yield from self._messages(self._pieces.tick(time.monotonic()))

    def _messages(self, pieces: Iterable[Piece]) -> Iterator[Message]:
        parser = self._parser
        for piece in pieces:
            if piece.text == ESC:
                yield events.Key("escape", ESC)
                continue
            for message in parser.feed(piece.text):
                if not (piece.late and isinstance(message, events.InputEvent)):
                    yield message
            if parser._timeout_time is not None:  # noqa: SLF001 -- no public way to end its wait
                parser._timeout_time = 0.0  # noqa: SLF001 -- as above
                deque(parser.tick(), maxlen=0)


def _adapted(driver: Any, leave: Callable[[], object]) -> Any:
    """Return ``driver`` with another file and, for the thread that it starts later, another parser: it takes neither."""
    module: Any = sys.modules[type(driver).__module__]
    if isinstance(made := getattr(module, "XTermParser", None), type):
        module.XTermParser = lambda debug=False: EscapeParser(made(debug))
    if hasattr(driver, "_file"):
        lost = partial(_in_loop, asyncio.get_running_loop(), leave)
        driver._file = _Terminal(driver._file, lost)  # noqa: SLF001 -- no public way to replace it
    return driver


class ReportingApp(App[int]):
    """An app that sends only the changed cells of a frame, and words its own report of a fatal error."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.shown = TerminalDiff()
        self.leave: Callable[[], object] = self.exit
        """Called when the terminal cannot be written to any more: SIGHUP, which says so first, may be ignored."""

    def on_load(self) -> None:
        """Start tasks as asyncio does. On Python 3.12 and newer Textual runs them at once, the widgets of a mode before it is current."""
        asyncio.get_running_loop().set_task_factory(None)

    def _build_driver(self, *args: Any, **options: Any) -> Any:
        return _adapted(super()._build_driver(*args, **options), self.leave)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        shown: Any = renderable
        if isinstance(renderable, LayoutUpdate | ChopsUpdate):
            shown = _ChangedCells(renderable, self.shown, self.size.width)
        with suppress(BrokenPipeError):  # the browser's server has ended; the end of its input ends the console, too
            super()._display(screen, shown)

    def fatal_report(self, error: BaseException) -> str:  # noqa: ARG002  # subclasses use it
        """Return what is printed when ``error`` ends the app; empty for Textual's own report."""
        return ""

    def _fatal_error(self) -> None:
        words = self.fatal_report(self._exception) if self._exception is not None else ""
        if not words:
            super()._fatal_error()
            return
        self._exit_renderables.append(Text(words))
        self._close_messages_no_wait()


@lru_cache(maxsize=4_096)
def _tinted(style: Style | None, color: Color) -> Style | None:
    (segment,) = BackgroundScreen.process_segments((Segment(" ", style),), color)
    return segment.style


class _Backdrop(BackgroundScreen):
    """The screen below a dialog. Textual mixes the colours of each of its thousand segments again."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        for segment in segments:
            text, style, control = segment
            yield segment if control else Segment(text, _tinted(style, color), control)


class FilteringScreen(ModalScreen[Any], inherit_bindings=False):
    """A dialog that drops the messages which ``accepts`` refuses."""

    def render(self) -> RenderableType:
        below = super().render()
        return _Backdrop(below.screen, below.color) if isinstance(below, BackgroundScreen) else below

    def _screen_resized(self, size: Size) -> None:
        """Lay out for another size only: the first one, with its whole frame, was drawn when the dialog opened."""
        if size != self._compositor.size:
            super()._screen_resized(size)

    def accepts(self, message: Message) -> bool:
        """Return whether ``message`` is handled."""
        raise NotImplementedError

    async def _on_message(self, message: Message) -> None:
        if self.accepts(message):
            await super()._on_message(message)


def bind_key(screen: Screen[Any], key: str, action: str, description: str) -> None:
    """Bind ``key`` on one screen object, hidden from the key bar."""
    screen._bindings.bind(key, action, description, show=False)  # noqa: SLF001 -- ``bind`` is of the app only
