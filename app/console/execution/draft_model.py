"""The draft: an execution as steps and as the JSON text that the user wrote. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.contracts.aliases import ALIASES
from clawperator.engine.contracts.issues import suggestion
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.build import completed, generated_id
from clawperator.engine.executions.snippets import pretty
from clawperator.engine.executions.steps import execution, with_own_ids
from clawperator.widgets.text.json_text import JsonText, editable, read

if TYPE_CHECKING:
    from clawperator.engine.executions.validate import Validated

UNDO_KEPT = 200
_ID_KEYS = ("commandId", "taskId")
_NO_LIST = "it has no list of actions"


class Problem(NamedTuple):
    """A violation of the contract; ``step`` is the index of its step, -1 for none.

    ``path`` names its place; in text that is not JSON that is ``at``.
    """

    path: str
    message: str
    step: int = -1
    at: int = -1


@dataclass(frozen=True, slots=True)
class _State:
    """``root``: what the steps do not imply; ``text``: as the user wrote it; ``unreadable``: why it has no steps."""

    steps: tuple[Mapping[str, Any], ...] = ()
    root: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    unreadable: str = ""


class Draft:
    """Steps and text; ``generation`` changes with every change.

    Steps and text are two views: the one changed last counts, and the other follows. Text that is not JSON, or not an
    execution, is kept; until it is corrected there are no steps.
    """

    def __init__(self) -> None:
        self._state = _State()
        self._past: list[_State] = []
        self._command_id = generated_id("draft")
        self._ids = {self._command_id}
        """Every command id that this draft made: text with one of them has no id of its own."""
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
        """Why the text has no steps; empty when it has."""
        return self._state.unreadable

    # -- changing the steps

    def append(self, *steps: Mapping[str, Any]) -> int:
        """Append steps under ids of their own; return the number of all steps.

        Raises ``ValueError`` with the reason while the text is unreadable: it would be lost.
        """
        if self.unreadable:
            raise ValueError(self.unreadable)
        own = list(with_own_ids([*self.steps, *steps]))[len(self) :]
        self._change(steps=(*self.steps, *own))
        return len(self)

    def with_step(self, step: Mapping[str, Any], index: int, *, new: bool) -> list[Mapping[str, Any]]:
        """Return the steps with ``step`` at ``index``: inserted there, or instead of the one there."""
        return [*self.steps[:index], step, *self.steps[index + (not new) :]]

    def put(self, steps: Iterable[Mapping[str, Any]]) -> None:
        """Replace the steps."""
        self._change(steps=tuple(steps))

    def problems_with(self, steps: Sequence[Mapping[str, Any]], index: int) -> list[Problem]:
        """Return what the contract says against one of these steps, and against their number."""
        return [
            problem
            for problem in _problems(self._made_payload(steps))
            if problem.step == index or problem.path == "actions"
        ]

    def delete(self, index: int) -> None:
        self._change(steps=(*self.steps[:index], *self.steps[index + 1 :]))

    def move(self, index: int, by: int) -> int:
        """Exchange a step with its neighbour; return its new index, unchanged at either end."""
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
        """Take the steps of a payload or of a plan of actions, with its errors, but not its command id.

        Raises ``ValueError`` with the reason for a payload without a list of steps.
        """
        whole = payload == [] or (
            isinstance(payload, dict) and "commandId" in payload
        )  # an empty list has no steps to take
        steps, root = _parts(payload if whole else completed(payload))
        root.pop("commandId", None)
        self._change(steps=steps, root=root)

    def take(self, text: str) -> None:
        """Take the steps of a payload's text, else the text as it is."""
        try:
            self.open(parse_json(text))
        except (ValueError, EngineError):
            self.write(text)
        self.rest()

    # -- changing the text

    def write(self, text: str) -> None:
        """Take text that the user wrote. Consecutive calls are one change for undo, until ``rest``."""
        if text == self.text:
            return
        if not self._writing:
            self._remember()
        self._writing = True
        self._read(text)

    def _read(self, text: str) -> None:
        try:
            value = parse_json(text)
        except EngineError as exc:
            self._state = _State(text=text, unreadable=f"it is not JSON: {exc.details['reason']}")
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
        """End the current change: the next text is a change of its own."""
        self._writing = False

    def undo(self) -> bool:
        """Restore the state before the last change; return whether there was one."""
        if not self._past:
            return False
        self._state = self._past.pop()
        self._writing = False
        self._changed()
        return True

    def forget(self) -> None:
        """Forget the undo history."""
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
        """The JSON text: as written, else made of the steps. A command id of the draft's own is always the current one."""
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
        """Return the execution as sent, with one command id until then; ``None`` for text that is not JSON."""
        if self._payload is None:
            self._payload = self._written_payload() if self._state.text is not None else self._made_payload(self.steps)
        return self._payload

    def _written_payload(self) -> object:
        try:
            return parse_json(self.text)
        except EngineError:
            return None

    def _made_payload(self, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        own = execution(steps) | {"commandId": self._command_id, "taskId": self._command_id}
        return own | deepcopy(dict(self._state.root)) | {"actions": deepcopy(list(steps))}

    def sent(self) -> None:
        """Use up the payload's command id, unless the user chose it."""
        self._command_id = generated_id("draft")
        self._ids.add(self._command_id)
        self._forget_answers()

    def check(self) -> tuple[Validated | None, Sequence[Problem]]:
        """Return the normalised payload with its warnings, or all problems."""
        if self._checked is None:
            self._checked = self._check()
        return self._checked

    def _check(self) -> tuple[Validated | None, Sequence[Problem]]:
        from clawperator.engine.executions.validate import validate

        try:
            return validate(self.payload()), ()
        except EngineError as exc:
            if self.reading.problem:
                return None, [Problem("", self.unreadable, at=self.reading.at)]
            return None, _problems_of(exc, self.payload())


def _parts(payload: object) -> tuple[tuple[Mapping[str, Any], ...], dict[str, Any]]:
    """Return the steps of a payload, and what they do not imply."""
    whole = payload if isinstance(payload, dict) else {}
    actions = whole.get("actions")
    if not (isinstance(actions, list) and all(isinstance(action, dict) for action in actions)):
        raise ValueError(_NO_LIST)
    usual = execution(actions) | {"taskId": whole.get("commandId")}
    root = {key: value for key, value in whole.items() if key != "actions" and value != usual.get(key)}
    return tuple(deepcopy(actions)), deepcopy(root)


def _problems(payload: Mapping[str, Any]) -> list[Problem]:
    from clawperator.engine.executions.validate import validate

    try:
        validate(payload)
    except EngineError as exc:
        return _problems_of(exc, payload)
    return []


def _problems_of(exc: EngineError, payload: object) -> list[Problem]:
    found = exc.details.get("issues") or [{"path": "", "message": exc.message}]
    return [_problem(item["path"], item["message"], payload) for item in found]


def _problem(path: str, message: str, payload: object) -> Problem:
    """Return a violation, with the nearest action type for an unknown one."""
    step = _step_of(path)
    if step >= 0 and path == f"actions.{step}.type" and isinstance(payload, dict):
        from clawperator.engine.contracts.actions import ACTIONS

        near = suggestion(str(payload["actions"][step].get("type")), [*ACTIONS, *ALIASES])
        message = f"{message}. {near}" if near and near not in message else message
    return Problem(path, message, step)


def _step_of(path: str) -> int:
    parts = path.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "actions" and parts[1].isdigit() else -1
