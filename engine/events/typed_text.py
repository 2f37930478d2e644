"""Typed and sensitive text, which no event, log, history or export holds: it is taken out here, for all of them. Pure.

Only the payload on its way to the device and the answer to the caller hold it. ``TypedText`` knows the texts of one execution;
``without_typed`` takes them out of an event of any process's command. What is on a screen is not typed text: a UI tree that a later
command reads shows what the screen shows, but for nodes that their app marks as sensitive (``text.sensitive``), and the trees of the
execution itself do not show what it typed.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.aliases import canonical
from clawperator.engine.contracts.keys import key_code, key_effects
from clawperator.engine.text.sensitive import MARK, TEXT_ATTRIBUTE, hide_in_data, hide_in_raw, hide_sensitive

if TYPE_CHECKING:
    from clawperator.engine.events.types import CommandProgress, EngineEvent, EnvelopeSeen, LogBatch, SnapshotSeen
    from clawperator.engine.logcat.entry import LogEntry

HIDDEN = "[typed text]"
"""Stands for typed text inside another text. A parameter or a result that is typed text is empty instead."""
_TYPING = ("enter_text", "input_text")
_SHOWING = ("show_toast", "set_on_screen_log")
"""Their text is for everybody who sees the screen."""
_NAMES = frozenset(
    {
        "id", "type", "commandId", "taskId", "source", "mode", "expectedFormat", "applicationId", "expectedPackage", "key",
        "direction", "clickType", "role", "resourceId", "validator", "actionType", "status", "errorCode", "errorCodeSource",
        "code", "executionId", "deviceId", "backend", "terminalSource", "composition", "stepId", "actionId", "retryable",
    }
)  # fmt: skip
"""Keys whose texts are names: a typed word such as ``click`` does not change them."""
_SHORTEST = 4
"""Characters; a shorter text is taken out only where it is the whole of a text."""
_MOST_HELD = 16
_MOST = 64
"""Limit of the commands that are remembered."""
_NODE = re.compile(r"(<(?:node|hierarchy)\b[^<>]*>)")
_ATTRIBUTE = re.compile(TEXT_ATTRIBUTE + r'=(\\*")([^"]*?)\2')
"""Also in JSON, where quotes are escaped."""
_EVENT_TEXT = re.compile(r"((?:Before)?Text: ).*?(?=; \w+: |\Z|\]\)\Z)", re.DOTALL)
_EDITS = b"EditText; "
"""In a logged accessibility event of a field, with its text."""
_SCREEN_MARKS = (b"<node", _EDITS)
_FIELD_TEXT = re.compile(r'(\stext=")[^"]+')
_FIELD = re.compile(r"<node\b[^>]*EditText[^>]*>")
_JSON_TEXT = re.compile(r'("text"\s*:\s*")(?:[^"\\]|\\.)*')
_NUMBERED = {ord(each): f"&#{ord(each)};" for each in "\t\n\r"}
_LAST_OF_ONE_UNIT = 0xFFFF
"""Android writes a later character into XML by its number."""
_LINE_DATA = re.compile(r"\s(?:data|message|reason)=.*", re.DOTALL)
_SUBMIT = "submit="
"""In the data of a step that types, and of no other."""
_LINE_MARKS = (b"enter_text", b"enterText", _SUBMIT.encode())
_PART = b" (a part of a result, which may hold typed text)"


class TypedText:
    """The texts that an execution types; false without any. ``hidden`` stands for them inside another text."""

    def __init__(self, texts: Iterable[str] = (), hidden: str = HIDDEN) -> None:
        self._hidden = hidden
        self.texts = tuple(sorted({text for text in texts if text.strip()}, key=len, reverse=True))
        forms = {form for text in self.texts for form in _forms(text)}
        long = sorted((re.escape(form) for form in forms if len(form) >= _SHORTEST), key=len, reverse=True)
        self._long = re.compile("|".join(long)) if long else None
        self._whole = forms

    @classmethod
    def of(cls, payload: object) -> TypedText:
        """Return the texts of a payload, valid or not."""
        return cls(text for action in _actions(payload) for text in _typed_by(action))

    def __bool__(self) -> bool:
        return bool(self.texts)

    def text(self, text: str) -> str:
        """Return ``text`` without the typed texts; a UI tree in it keeps its names."""
        if not self.texts:
            return text
        parts = _NODE.split(text)
        parts[::2] = map(self._outside, parts[::2])
        parts[1::2] = (_ATTRIBUTE.sub(self._attribute, node) for node in parts[1::2])
        return "".join(parts)

    def _outside(self, text: str) -> str:
        return text if self._long is None else self._long.sub(self._hidden, text)

    def raw(self, raw: str) -> str:
        """Return a result as the device wrote it, readable or not, without the typed texts, also those in its trees."""
        raw = raw_without_typed(raw)
        if not self.stands_in(raw):
            return raw
        start = max(raw.find("{"), 0)
        try:
            document = self.value(json.loads(raw[start:]))
        except (ValueError, RecursionError):
            return self._outside(raw)
        return raw[:start] + json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    def _attribute(self, found: re.Match[str]) -> str:
        name, quote, value = found.groups()
        shown = self._hidden if value in self._whole else self._outside(value)
        return f"{name}={quote}{shown}{quote}"

    def stands_in(self, text: str) -> bool:
        return any(form in text for form in self._whole)

    def value(self, value: Any, key: str = "") -> Any:
        """Return JSON data without the typed texts."""
        if not self.texts:
            return value
        match value:
            case str():
                return value if key in _NAMES else "" if key == "text" and value in self._whole else self.text(value)
            case Mapping():
                return {name: self.value(item, name) for name, item in value.items()}
            case list() | tuple():
                return [self.value(item, key) for item in value]
        return value

    def payload(self, payload: Any) -> Any:
        """Return a payload without them: it cannot be dispatched again as it stands."""
        if not self.texts:
            return payload
        try:
            return self.value(_untyped(payload))
        except RecursionError:  # a refused payload can be any object
            return None

    def result(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an engine result without them."""
        if not self.texts:
            return result
        shown: dict[str, Any] = self.value(result)
        if isinstance(envelope := shown.get("envelope"), Mapping):
            shown["envelope"] = _untyped_envelope(envelope)
        return shown

    def line(
        self, kind: str, fields: Mapping[str, str], text: str, *, cut: bool = False
    ) -> tuple[Mapping[str, str], str]:
        """Return fields and text of one of the Operator's live lines without them, and, of a step that types or with ``cut``, without data."""
        if cut or _types(fields):
            fields = {name: "" if name in ("data", "message", "reason") else value for name, value in fields.items()}
            text = _LINE_DATA.sub("", text)
        if self.texts:
            names = ("commandId", "taskId", "type", "" if kind.startswith("stage") else "id")
            fields = {name: value if name in names else self.text(value) for name, value in fields.items()}
            text = self.text(text)
        if MARK in text:
            return {name: hide_sensitive(value) for name, value in fields.items()}, hide_sensitive(text)
        return fields, text


def _like_a_secret(text: str) -> bool:
    """Return whether a text is no ordinary words, so that it is meant wherever it stands: a password, a code, an address."""
    return len(text) >= _SHORTEST + 2 and not text.replace(" ", "").isalpha()


def _types(fields: Mapping[str, str]) -> bool:
    """Return whether a live line is of a step that types; the Operator's builds have other names for the types."""
    typing = fields.get("type") in _TYPING or fields.get("id", "").startswith("enterText")
    return typing or _SUBMIT in fields.get("data", "")


def _forms(text: str) -> Iterator[str]:
    """Yield how a text is written in messages, XML and for Android's ``input``, and each of them in JSON."""
    quoted = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    numbered = quoted.translate(_NUMBERED)
    long = "".join(f"&#{ord(each)};" if ord(each) > _LAST_OF_ONE_UNIT else each for each in numbered)
    written = [text, text.replace(" ", "%s")]
    for form in (quoted, numbered, long):
        written += (form, form.replace("'", "&apos;"), form.replace("'", "&#39;"))
    for form in dict.fromkeys(written):
        yield from (form, json.dumps(form)[1:-1], json.dumps(form, ensure_ascii=False)[1:-1])


# -- payloads


def _actions(payload: object) -> Iterator[Mapping[str, Any]]:
    actions = payload.get("actions") if isinstance(payload, Mapping) else None
    yield from (action for action in (actions if isinstance(actions, list | tuple) else ()) if _is_mapping(action))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _kind(action: Mapping[str, Any]) -> str:
    kind = action.get("type")
    return canonical(kind) if isinstance(kind, str) else ""


def _typed_by(action: Mapping[str, Any]) -> Iterator[str]:
    params, kind = action.get("params"), _kind(action)
    if kind in _SHOWING:
        return
    given = [action, params] if isinstance(params, Mapping) else [action]
    for fields in given:
        yield from _texts_of(fields.get("text"))
    if kind in _TYPING:  # also what an invalid payload calls otherwise
        for fields in given:
            yield from (value for name, value in fields.items() if _may_be_text(name) and isinstance(value, str))
    if kind == "input_key" and (key := _typing_key(action)):
        yield f"keyevent KEYCODE_{key}"
        yield f"keyevent {key}"


def _texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, str))


def _may_be_text(name: object) -> bool:
    return name not in ("id", "type", "matcher", "clickType", "ref")


def _typing_key(action: Mapping[str, Any]) -> str:
    """Return the key of a step that types with it; empty for another one."""
    params = action.get("params")
    key = params.get("key") if isinstance(params, Mapping) else None
    return key if isinstance(key, str) and "type_text" in key_effects(key_code(key)) else ""


def _untyped(payload: Any) -> Any:
    if not isinstance(payload, Mapping) or not isinstance(payload.get("actions"), list | tuple):
        return payload
    return {**payload, "actions": [_untyped_action(action) for action in payload["actions"]]}


def _untyped_action(action: Any) -> Any:
    if not isinstance(action, Mapping) or _kind(action) in _SHOWING:
        return action
    typing, shown = _kind(action) in _TYPING, dict(action)
    if isinstance(params := action.get("params"), Mapping):
        shown["params"] = _emptied(params, typing=typing)
        if _kind(action) == "input_key" and _typing_key(action):
            shown["params"]["key"] = ""
    return _emptied(shown, typing=typing)


def _emptied(fields: Mapping[str, Any], *, typing: bool) -> dict[str, Any]:
    def hides(name: str, value: object) -> bool:
        return (name == "text" and value is not None) or (typing and isinstance(value, str) and _may_be_text(name))

    return {name: "" if hides(name, value) else value for name, value in fields.items()}


def text_without_typed(text: str) -> str:
    """Return the text of a payload file without them; it stays as it is written where it types nothing."""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return _JSON_TEXT.sub(r"\1", text)
    typed = TypedText.of(payload)
    return json.dumps(typed.payload(payload), indent=2, ensure_ascii=False) if typed else text


# -- results and lines of any process


def _untyped_envelope(envelope: Mapping[str, Any]) -> dict[str, Any]:
    steps = envelope.get("stepResults")
    return (
        {**envelope, "stepResults": list(map(_untyped_step, steps))}
        if isinstance(steps, list | tuple)
        else dict(envelope)
    )


def _untyped_step(step: Any) -> Any:
    if not isinstance(step, Mapping) or step.get("actionType") not in _TYPING or not _is_mapping(step.get("data")):
        return step
    return {**step, "data": {**step["data"], "text": ""}} if "text" in step["data"] else step


def _typed_in(envelope: Mapping[str, Any]) -> Iterator[str]:
    for step in envelope.get("stepResults") or ():
        if isinstance(step, Mapping) and step.get("actionType") in _TYPING and isinstance(step.get("data"), Mapping):
            yield from _texts_of(step["data"].get("text"))


def raw_without_typed(raw: str) -> str:
    """Return an envelope as the device wrote it, readable or not, without the texts that its steps typed, and sensitive ones."""
    return hide_in_raw(_JSON_TEXT.sub(r"\1", raw) if "enter_text" in raw or "input_text" in raw else raw)


class TypedTexts:
    """The texts of the recent commands, by command id; takes them out of events."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, TypedText] = OrderedDict()
        self._secrets: list[str] = []
        """Texts that are taken out of what later commands read as well."""
        self._joined: dict[tuple[str, ...], TypedText] = {}
        self._typing: OrderedDict[str, None] = OrderedDict()
        """Commands of other processes that type what is not known yet."""
        self._unfinished: set[tuple[str | None, int, int]] = set()
        """Device, process and thread of results in several parts."""

    def note(self, command_id: str, typed: TypedText) -> None:
        self._known.pop(command_id, None)  # the id may be used again
        if typed and command_id:
            self._known[command_id] = typed
            self._secrets += [text for text in typed.texts if text not in self._secrets and _like_a_secret(text)]
            del self._secrets[:-_MOST]
            while len(self._known) > _MOST:
                self._known.popitem(last=False)

    def text(self, text: str) -> str:
        """Return ``text`` without the texts of all of them."""
        for typed in self._known.values():
            text = typed.text(text)
        return text

    def of(self, command_id: str) -> TypedText:
        """Return what to take out of anything about a command."""
        return self.beside(self._known.get(command_id, NOTHING))

    def beside(self, typed: TypedText) -> TypedText:
        """Return ``typed`` with the texts like secrets that other commands typed."""
        if not self._secrets:
            return typed
        key = tuple(dict.fromkeys((*typed.texts, *self._secrets)))
        if key not in self._joined:
            if len(self._joined) > _MOST:
                self._joined.clear()
            self._joined[key] = TypedText(key)
        return self._joined[key]

    def tree(self, command_id: str, xml: str) -> str:
        """Return a tree without what its command typed, and its fields without what any did."""
        xml = self.of(command_id).text(xml)
        others = [typed for typed in self._known.values() if typed.stands_in(xml)]
        if not others:
            return xml
        return _FIELD.sub(lambda found: self.text(found[0]), xml)

    def waits(self, command_id: str) -> bool:
        """Return whether a command types a text that only its result will show."""
        return command_id in self._typing

    def without(self, event: EngineEvent) -> EngineEvent:
        """Return the event without typed text."""
        from clawperator.engine.events import types

        match event:
            case types.LogBatch():
                return self._log(event)
            case types.CommandProgress():
                return self._progress(event)
            case types.EnvelopeSeen():
                return self._envelope(event)
            case types.ExecutionStarted():
                return replace(event, payload=self._noted(event.command_id, event.payload).payload(event.payload))
            case types.ExecutionFinished():
                typed = self._noted(event.command_id, event.payload)
                if not typed:
                    return event
                return replace(
                    event,
                    payload=typed.payload(event.payload),
                    result=typed.result(event.result),
                    warnings=tuple(typed.value(event.warnings)),
                )
        return event

    def _noted(self, command_id: str, payload: object) -> TypedText:
        if typed := TypedText.of(payload):
            self.note(command_id, typed)
        return self.of(command_id)

    def _progress(self, event: CommandProgress) -> CommandProgress:
        if event.command_id not in self._known and _types(event.fields):
            self._typing[event.command_id] = None
            while len(self._typing) > _MOST:
                self._typing.popitem(last=False)
        waits = event.command_id in self._typing or (self._typing and not event.command_id)
        fields, text = self.of(event.command_id).line(event.kind, event.fields, event.text, cut=bool(waits))
        return event if fields is event.fields and text is event.text else replace(event, fields=fields, text=text)

    def _envelope(self, event: EnvelopeSeen) -> EnvelopeSeen:
        self._typing.pop(event.command_id, None)
        texts = _typed_in(event.envelope) if event.envelope is not None else ()
        if own := TypedText((*self._known.get(event.command_id, NOTHING).texts, *texts)):
            self.note(event.command_id, own)
        typed = self.beside(own)
        raw, envelope = typed.raw(event.raw), event.envelope
        if raw != event.raw and envelope is not None:
            envelope = hide_in_data(envelope)
        if not typed:
            return event if raw == event.raw else replace(event, raw=raw, envelope=envelope)
        envelope = None if envelope is None else _untyped_envelope(typed.value(envelope))
        return replace(
            event, envelope=envelope, raw=raw, problem=typed.text(event.problem), outcome=typed.value(event.outcome)
        )

    def _log(self, event: LogBatch) -> LogBatch:
        from clawperator.engine.logcat.progress import OPERATOR_PREFIXES

        changed = {
            index: self._entry(event.device_id, entry)
            for index, entry in enumerate(event.entries)
            if self._unfinished
            or entry.payload.startswith(OPERATOR_PREFIXES)
            or any(mark in entry.payload for mark in _SCREEN_MARKS)
        }
        if not changed:
            return event
        return replace(event, entries=tuple(changed.get(index, entry) for index, entry in enumerate(event.entries)))

    def _entry(self, device_id: str | None, entry: LogEntry) -> LogEntry:
        from clawperator.engine.logcat.assembly import is_full_part
        from clawperator.engine.logcat.chunks import CHUNK
        from clawperator.engine.logcat.envelopes import RESULT

        payload = entry.payload
        place = (device_id, entry.pid, entry.tid)
        if payload.startswith(CHUNK):
            return entry._replace(payload=payload[: payload.index(b"]") + 1] + _PART)
        if payload.startswith(RESULT):
            if is_full_part(payload) and not _is_whole(entry.message):
                self._unfinished.add(place)
                return entry._replace(payload=payload[: payload.index(b"]") + 1] + _PART)
            self._unfinished.discard(place)
            shown = raw_without_typed(entry.message)
            for typed in self._known.values():
                shown = typed.raw(shown)
        elif self._unfinished and place in self._unfinished and entry.level == "I":
            if not is_full_part(payload):
                self._unfinished.discard(place)
            return entry._replace(payload=_PART)
        elif b"<node" in payload:  # a line of a tree: what its command types is known only later
            line = hide_sensitive(entry.message)
            shown = self.text(_FIELD.sub(lambda found: _FIELD_TEXT.sub(rf"\1{HIDDEN}", found[0]), line))
        elif _EDITS in payload:
            shown = _EVENT_TEXT.sub(rf"\1{HIDDEN}", entry.message)
        elif any(mark in payload for mark in _LINE_MARKS) or (self._typing and b" data=" in payload):
            shown = _LINE_DATA.sub("", entry.message)
        elif self._known:
            shown = self.text(entry.message)
        else:
            return entry
        return entry if shown == entry.message else entry._replace(payload=shown.encode("utf-8", "replace"))


class TypedTrees:
    """Takes typed and sensitive text out of the trees of events, for streams that others read: also out of the fields that show it later.

    The trees of another process's command that types are held back until its result says what; without a result they are not shown.
    """

    def __init__(self, typed: TypedTexts) -> None:
        self._typed = typed
        self._held: list[SnapshotSeen] = []

    def take(self, event: EngineEvent) -> Iterator[EngineEvent]:
        """Yield the events that are due with ``event``."""
        from clawperator.engine.events.types import SnapshotSeen

        if isinstance(event, SnapshotSeen):
            self._held.append(event)
        due = [tree for tree in self._held if not self._typed.waits(tree.command_id)]
        self._held = [tree for tree in self._held if self._typed.waits(tree.command_id)][-_MOST_HELD:]
        for tree in due:
            shown = hide_sensitive(self._typed.tree(tree.command_id, tree.xml))
            yield tree if shown == tree.xml else replace(tree, xml=shown)
        if not isinstance(event, SnapshotSeen):
            yield event


def _is_whole(line: str) -> bool:
    """Return whether the JSON of a line ends in it."""
    try:
        json.loads(line[line.index("{") :])
    except (ValueError, RecursionError):
        return False
    return True


NOTHING = TypedText()
