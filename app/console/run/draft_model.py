"""The draft itself: an execution to come, as steps and as the JSON text that somebody wrote. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import ALIASES
from clawperator.engine.contracts.issues import suggestion
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.build import generated_id
from clawperator.engine.executions.snippets import pretty
from clawperator.engine.executions.steps import execution, with_own_ids
from clawperator.engine.executions.validate import Validated, validate
from clawperator.widgets.text.json_text import JsonText, Span, editable, read

UNDO_KEPT = 200
_ID_KEYS = ("commandId", "taskId")
_NO_LIST = "it holds no list of actions"


class Problem(NamedTuple):
    """Something that the contract refuses; ``step`` is the index of the step it is in, -1 where it is in none.

    ``span`` is where it is in the text, for what is no JSON; else ``path`` leads there.
    """

    path: str
    message: str
    step: int = -1
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class _State:
    """``root`` is what the steps do not say by themselves. ``text`` is what somebody wrote, else ``None``; ``unreadable`` says
    why no steps can be made of it.
    """

    steps: tuple[Mapping[str, Any], ...] = ()
    root: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    unreadable: str = ""


class Draft:
    """The steps and how they came about. ``generation`` changes with every change.

    Steps and text are two looks at one thing: whichever was changed last is what counts, and the other follows. Text that is
    no JSON, or no execution, is kept as it is; until it is mended there are no steps.
    """

    def __init__(self) -> None:
        self._state = _State()
        self._past: list[_State] = []
        self._command_id = generated_id("draft")
        self._ids = {self._command_id}
        """Every command id that this draft made: a text that holds one of them has not been given its own."""
        self._writing = False
        self._text: str | None = None
        self._reading: JsonText | None = None
        self._payload: Any = None
        self._checked: tuple[Validated | None, Sequence[Problem]] | None = None
        self.generation = 0

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        return self._state.steps

    def __len__(self) -> int:
        return len(self._state.steps)

    @property
    def empty(self) -> bool:
        return not self._state.steps and self._state.text is None

    @property
    def unreadable(self) -> str:
        """Why the text cannot be shown as steps; empty when it can."""
        return self._state.unreadable

    # -- changing the steps

    def append(self, step: Mapping[str, Any]) -> int:
        """Add a step at the end, under an id of its own; how many there are now.

        Raises ``ValueError`` with the reason while the text cannot be read: it would be lost.
        """
        if self.unreadable:
            raise ValueError(self.unreadable)
        *_, own = with_own_ids([*self.steps, step])
        self._change(steps=(*self.steps, own))
        return len(self)

    def delete(self, index: int) -> None:
        self._change(steps=(*self.steps[:index], *self.steps[index + 1 :]))

    def move(self, index: int, by: int) -> int:
        """Exchange a step with its neighbour; where it is now, which is where it was at either end."""
        to = index + by
        if not (0 <= index < len(self) and 0 <= to < len(self)):
            return index
        steps = list(self.steps)
        steps[index], steps[to] = steps[to], steps[index]
        self._change(steps=tuple(steps))
        return to

    def clear(self) -> None:
        self._change(steps=(), root={})

    def open(self, payload: object) -> None:
        """Take over the steps of a payload, faults included: they are shown, not repaired. Its command id is not taken over.

        Raises ``ValueError`` with the reason for what has no list of steps at all.
        """
        steps, root = _parts(payload)
        root.pop("commandId", None)
        self._change(steps=steps, root=root)

    # -- changing the text

    def write(self, text: str) -> None:
        """Take over what somebody wrote. What is written in one go, until anything else happens, is undone in one."""
        if text == self.text:
            return
        if not self._writing:
            self._remember()
        self._writing = True
        self._take(text)

    def _take(self, text: str) -> None:
        try:
            value = parse_json(text)
        except EngineError as exc:
            self._state = _State(text=text, unreadable=_first_words(read(text), exc))
            self._changed()
            return
        try:
            steps, root = _parts(value)
        except ValueError as exc:
            self._state = _State(text=text, unreadable=str(exc))
        else:
            root = {key: value for key, value in root.items() if key != "commandId" or value not in self._ids}
            self._state = _State(steps, root, text)
        self._changed()
        if self.text == text:
            self._payload = value

    def rest(self) -> None:
        """What is written next is a change of its own."""
        self._writing = False

    def undo(self) -> bool:
        """Back to the state before the last change; whether there was one."""
        if not self._past:
            return False
        self._state = self._past.pop()
        self._writing = False
        self._changed()
        return True

    def forget(self) -> None:
        """Undo leads no further back than here."""
        self._past.clear()

    def _change(self, **parts: Any) -> None:
        state = _State(**{"steps": self._state.steps, "root": self._state.root, **parts})
        if (state.steps, state.root) != (self._state.steps, self._state.root) or self.unreadable:
            self._remember()
            self._state, self._writing = state, False
            self._changed()

    def _remember(self) -> None:
        self._past = [*self._past[-UNDO_KEPT + 1 :], self._state]

    def _changed(self) -> None:
        self.generation += 1
        self._forget_answers()

    def _forget_answers(self) -> None:
        self._payload = self._checked = self._text = self._reading = None

    # -- what it comes to

    @property
    def text(self) -> str:
        """The JSON text: as it was written, else as the steps make it. A command id of the draft's own is always the present one."""
        if self._text is None:
            written = self._state.text
            self._text = editable(pretty(self.payload())) if written is None else self._with_own_id(written)
        return self._text

    def _with_own_id(self, text: str) -> str:
        stale = [name for name in self._ids if name != self._command_id and name in text]
        if stale:
            found = read(text)
            spans = [found.values[(key,)] for key in _ID_KEYS if found.value((key,)) in stale]
            for start, end in sorted(spans, reverse=True):
                text = f'{text[:start]}"{self._command_id}"{text[end:]}'
        return text

    @property
    def reading(self) -> JsonText:
        """The text with its places."""
        if self._reading is None:
            self._reading = read(self.text)
        return self._reading

    def payload(self) -> Any:
        """The execution as it would be saved and sent: the same command id until it was sent. It is made once per change.

        ``None`` for text that is no JSON.
        """
        if self._payload is None:
            self._payload = self._written_payload() if self._state.text is not None else self._made_payload()
        return self._payload

    def _written_payload(self) -> object:
        try:
            return parse_json(self.text)
        except EngineError:
            return None

    def _made_payload(self) -> dict[str, Any]:
        own = execution(self.steps) | {"commandId": self._command_id, "taskId": self._command_id}
        return own | deepcopy(dict(self._state.root)) | {"actions": deepcopy(list(self.steps))}

    def sent(self) -> None:
        """The payload's command id is used up, unless it was chosen."""
        self._command_id = generated_id("draft")
        self._ids.add(self._command_id)
        self._forget_answers()

    def check(self) -> tuple[Validated | None, Sequence[Problem]]:
        """The normalised payload with the contract's advice, or everything that is wrong with it."""
        if self._checked is None:
            self._checked = self._check()
        return self._checked

    def _check(self) -> tuple[Validated | None, Sequence[Problem]]:
        try:
            return validate(parse_json(self.text) if self.unreadable else self.payload()), ()
        except EngineError as exc:
            if self.unreadable and self.reading.faults:
                return None, [_problem_of_text(self.reading, fault) for fault in self.reading.faults]
            found = exc.details.get("issues") or [{"path": "", "message": exc.message}]
            return None, [_problem(item["path"], item["message"], self.payload()) for item in found]


def _parts(payload: object) -> tuple[tuple[Mapping[str, Any], ...], dict[str, Any]]:
    """The steps of a payload, and what they do not say by themselves: the budget grows with them, and stays theirs to say."""
    whole = payload if isinstance(payload, dict) else {}
    actions = whole.get("actions")
    if not (isinstance(actions, list) and all(isinstance(action, dict) for action in actions)):
        raise ValueError(_NO_LIST)
    usual = execution(actions) | {"taskId": whole.get("commandId")}
    root = {key: value for key, value in whole.items() if key != "actions" and value != usual.get(key)}
    return tuple(deepcopy(actions)), deepcopy(root)


def _first_words(found: JsonText, exc: EngineError) -> str:
    if not found.faults:
        return exc.message
    problem = _problem_of_text(found, found.faults[0])
    return f"it is no JSON, {problem.message}"


def _problem_of_text(found: JsonText, fault: tuple[int, int, str]) -> Problem:
    start, end, words = fault
    line, column = found.place(start)
    return Problem("", f"line {line + 1}, column {column + 1}: {words}", span=Span(start, end))


def _problem(path: str, message: str, payload: object) -> Problem:
    """A complaint of the contract, with the nearest action type for one that does not exist."""
    step = _step_of(path)
    if step >= 0 and path == f"actions.{step}.type" and isinstance(payload, dict):
        near = suggestion(str(payload["actions"][step].get("type")), [*ACTIONS, *ALIASES])
        message = f"{message}. {near}" if near and near not in message else message
    return Problem(path, message, step)


def _step_of(path: str) -> int:
    parts = path.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "actions" and parts[1].isdigit() else -1
