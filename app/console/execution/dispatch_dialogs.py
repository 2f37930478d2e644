"""The confirmation of an execution, and the one-line forms for values that no node supplies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult

from clawperator.app.console.console import Console
from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.screens.forms import Form, Switch, not_blank
from clawperator.app.console.screens.live_dialog import LiveDialog
from clawperator.app.console.session import Facet
from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH, utf16_length
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.widgets import keys
from clawperator.widgets.format.bench import add_piece, matcher_pieces, sentence_rows
from clawperator.widgets.format.json_lines import json_rows
from clawperator.widgets.format.lines import Line, Row, sentence, wrapped
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.text.times import age

_LINES_OF_COMMAND = 200
READING = "Reading the screen…"
_VALUES = ("text", "applicationId", "uri", "durationMs")
"""Parameters that are shown beside the action."""


class Dispatch(NamedTuple):
    """What a confirmation shows: ``payload`` is normalised and exactly what is sent."""

    what: str
    device_id: str
    command: str
    payload: Mapping[str, Any]
    doubts: Sequence[str] = ()
    subject: Subject | None = None


def facts(shown: Dispatch, now: float = 0.0) -> Iterator[tuple[Status, str]]:
    """Yield what is known of it, in sentences; a warning is a reason against sending it."""
    actions, subject = shown.payload["actions"], shown.subject
    params = actions[0].get("params") or {}
    if len(actions) > 1:
        yield Status.IDLE, f"{len(actions)} steps: {', '.join(action['type'] for action in actions)}"
    elif actions[0]["type"] == "scroll" and not params.get("container"):
        yield Status.WARN, "No container is known: the device scrolls the first one on screen"
    if subject is not None and _matcher_of(shown):
        if subject.matches == 1:
            yield Status.OK, f"1 match: {subject.first_name or subject.node_name}"
        elif subject.matches:
            yield Status.WARN, f"{subject.matches} matches; the device uses the first: {subject.first_name}"
        else:
            yield Status.WARN, "0 matches: the device will search for a few seconds, then fail"
    for words in (*(subject.warnings if subject is not None else ()), *shown.doubts):
        yield Status.WARN, words
    if subject is not None and subject.tree:
        seen = age(now - subject.tree.at)
        words = f"Tree captured {'just now' if seen == 'now' else f'{seen} ago'}"
        if subject.outdated:
            yield Status.WARN, f"{words}, out of date: {subject.outdated}"
        else:
            yield Status.OK, f"{words}; no action since"


def _matcher_of(shown: Dispatch) -> Matcher:
    """Return the matcher of a single action; empty for another one and for a plan."""
    actions = shown.payload["actions"]
    params = (actions[0].get("params") or {}) if len(actions) == 1 else {}
    return Matcher.from_fields(params.get("matcher") or params.get("target") or {})


def _action_line(shown: Dispatch, width: int) -> Line:
    """Return the action, its selector and its value."""
    matcher, subject, actions = _matcher_of(shown), shown.subject, shown.payload["actions"]
    name = subject.node_name if subject is not None and matcher else ""
    line = Line(width).add(" ").device(shown.what.removesuffix(name).strip(), "strong")
    for piece in matcher_pieces(matcher):
        add_piece(line.add("  "), *piece)
    params = (actions[0].get("params") or {}) if len(actions) == 1 else {}
    for name in _VALUES:
        if name in params:
            line.device(str(params[name]), "node-text", before="  ")
    return line


def dispatch_rows(shown: Dispatch, width: int, symbols: Symbols, *, now: float, work: str = "") -> Iterator[Row]:
    """Yield the question for ``width`` cells: the action, then what is known. ``work`` is in progress."""
    yield Row(_action_line(shown, width))
    for status, words in facts(shown, now):
        yield from sentence_rows(words, status, width, symbols)
    if work:
        yield from sentence_rows(work, Status.RUNNING, width, symbols)


def payload_rows(shown: Dispatch, width: int) -> Iterator[Row]:
    """Yield the equivalent command and the payload."""
    yield Row(Line(width))
    yield Row(Line(width).add(" equivalent command", "faint"))
    yield from wrapped(shown.command, width, "node-text", limit=_LINES_OF_COMMAND)
    yield Row(Line(width))
    yield Row(Line(width).add(" payload", "faint"))
    yield from json_rows(shown.payload, width)


class DispatchDialog(LiveDialog):
    """Answers the name of what is to be sent. The tree stays visible: it covers the end of the screen without the cursor."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch"), *keys.bindings("sending")]
    GO = "send"
    ROWS = 9
    """Rows that it covers at most while the payload is not shown."""

    def __init__(self, shown: Dispatch, console: Console) -> None:
        super().__init__(f"send to {sentence(shown.device_id)}")
        self._shown = shown
        self._shell = console
        self._unfolded = self._reading = False

    def compose_question(self) -> ComposeResult:
        yield WrappedText(self._rows, id="dispatch")

    def _rows(self, width: int) -> Iterator[Row]:
        session = self._shell.session
        work = READING if self._reading else ""
        yield from dispatch_rows(self._shown, width, self.symbols, now=session.clock.now(), work=work)
        if self._unfolded:
            yield from payload_rows(self._shown, width)

    def on_mount(self) -> None:
        self.set_class(self.app.cursor_position.y >= self.app.size.height - self.ROWS, "-top")
        for text in self.query("#dispatch"):  # none where the console closes as the dialog opens
            self.set_focus(text)

    def draw(self, changed: Facet) -> None:
        subject = self._shown.subject
        shown = [("enter", self.GO), ("v", "payload"), ("escape", "back")]
        if subject is not None and subject.source is not None:
            seen, what = subject.source.seen_now(subject), self._shown.what
            if subject.node_name:
                what = what.replace(subject.node_name, seen.node_name)
            self._shown = self._shown._replace(what=what, subject=seen)
            shown.insert(1, ("r", "refresh first"))
        if changed & Facet.TREE or (changed & Facet.WORK and not self._shell.session.work):
            self._reading = False
        self.show_keys(*shown, dimmed="enter" if self._reading else "")
        self.query_one("#dispatch", WrappedText).fold()

    def action_go(self) -> None:
        """Send it, but not before the tree that was asked for is shown."""
        if not self._reading:
            self.dismiss(self._shown.what)

    def action_refresh(self) -> None:
        """Read the screen again, and look for the same selector on it."""
        if self._shown.subject is not None and self._shown.subject.source is not None and not self._reading:
            self._reading = self._shown.subject.source.read_again()
            self.draw(Facet.NOTHING)

    def action_payload(self) -> None:
        """Show or hide the equivalent command and the payload."""
        self._unfolded = not self._unfolded
        self.draw(Facet.NOTHING)


class TextForm(Form):
    """Asks for the text of a field and whether to submit it: answers ``text`` and ``submit``."""

    def __init__(self, node_name: str) -> None:
        prompt = f"The text of {sentence(node_name) or 'the field'} will be replaced by:"
        super().__init__("enter text", prompt, _text_problem)

    def compose_more(self) -> ComposeResult:
        yield Switch("submit: click the field again afterwards", id="submit")

    def answer(self, text: str) -> dict[str, Any]:
        return {"text": text, "submit": self.query_one("#submit", Switch).value}


def _text_problem(text: str) -> str:
    if not text.strip():
        return "The text must not be blank."
    length = utf16_length(text)
    most = MAX_MATCHER_VALUE_LENGTH
    return f"{length} characters are too many: at most {most}." if length > most else ""


def _sleep_problem(text: str) -> str:
    digits = text.strip()
    good = digits.isascii() and digits.isdigit() and len(digits) <= 6 and int(digits) <= 120_000
    return "" if good else "Enter whole milliseconds, 0 to 120000."


class Value(NamedTuple):
    """A parameter that no node supplies: how it is asked for, and the argument of ``steps.step`` that takes it."""

    title: str
    prompt: str
    problem: Callable[[str], str]
    argument: str
    usual: str = ""
    read: Callable[[str], Any] = str

    def form(self, value: str = "") -> Form:
        """Return its form, beginning with ``value``."""
        return Form(self.title, self.prompt, self.problem, value=value or self.usual)


VALUES: Mapping[str, Value] = {
    "applicationId": Value(
        "open app",
        "Package of the app to open:",
        not_blank("Enter a package, such as com.android.settings."),
        "application_id",
    ),
    "uri": Value("open URI", "URI to open:", not_blank("Enter a URI, such as https://example.org or geo:0,0."), "uri"),
    "durationMs": Value("sleep", "Milliseconds to wait (0 to 120000):", _sleep_problem, "duration_ms", "1000", int),
}
