"""Parse the conventional frames in a script's output (skills.md#conventions). Pure.

* ``RESULT|key=value|…``: values. A part without ``=`` is one of the ``words``.
* ``SCREENSHOT|path=<file>``: a screenshot.
* ``TEXT_BEGIN`` … ``TEXT_END``: the lines between them are one text.
* a check mark at the start of the last line: success.
* ``[Clawperator-Skill-Result] {…}``: a JSON object with a result; there may be several. The mark alone on its line begins the result
  of the skill (``skill_result``), which is no frame.

Invalid frames are reported as ``malformed`` with a reason and are never fatal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NoReturn

from clawperator.engine.contracts.operator_identity import BRANDS

Kind = Literal["result", "screenshot", "text", "done", "skillResult", ""]
Frame = Mapping[str, Any]

SKILL_RESULT = tuple(f"[{brand}-Skill-Result]" for brand in BRANDS)
CHECK_MARKS = ("✓", "✔", "✅")
MAX_FRAMES = 500
MAX_RESULT = 256 * 1024
"""Characters of one JSON result, of one text, and of one line with values."""
_BEGIN, _END = "TEXT_BEGIN", "TEXT_END"
_RESULT, _SCREENSHOT = "RESULT|", "SCREENSHOT|"
_MAX_INDENT = 100
_BLANK = rf"[^\S\n]{{0,{_MAX_INDENT}}}"
_MARKS = "|".join(map(re.escape, (*SKILL_RESULT, _RESULT, _SCREENSHOT, _BEGIN, _END, *CHECK_MARKS)))
_MARKED = re.compile(rf"^{_BLANK}(?:{_MARKS})", re.MULTILINE)
_CLOSING = re.compile(rf"^{_BLANK}{_END}{_BLANK}$", re.MULTILINE)


def kind_of(line: str) -> Kind:
    """Return the kind of frame that a line belongs to; '' for none."""
    words = line.strip()
    if words.startswith(SKILL_RESULT):
        return "skillResult"
    if words.startswith(_RESULT):
        return "result"
    if words.startswith(_SCREENSHOT):
        return "screenshot"
    if words in (_BEGIN, _END) or words.startswith(f"{_BEGIN}|"):
        return "text"
    return "done" if words.startswith(CHECK_MARKS) else ""


def parse_frames(text: str) -> tuple[Frame, ...]:
    """Return the frames of a script's stdout in order, each with its ``kind`` and first ``line`` (1-based).

    ``result``: ``values``, optionally ``words``. ``screenshot``: ``path``, optionally other ``values``. ``text``: ``text``,
    ``complete`` (false without an end). ``done``: ``text``. ``skillResult``: ``result``, a JSON object. ``malformed``:
    ``reason``. After ``MAX_FRAMES`` a last ``malformed`` reports the limit.
    """
    frames: list[Frame] = []
    for frame in _frames(text):
        if len(frames) == MAX_FRAMES:
            frames.append(_malformed(frame["line"], f"more than {MAX_FRAMES} frames"))
            break
        frames.append(frame)
    return tuple(frames)


def _frames(text: str) -> Iterator[Frame]:
    """Search for markers instead of reading lines: there may be millions of lines without any."""
    last_line = text.rstrip().rfind("\n") + 1
    position, counted, number = 0, 0, 1
    while found := _MARKED.search(text, position):
        start, end = found.start(), _line_end(text, found.start())
        number, counted = number + text.count("\n", counted, start), start
        position = end
        words = text[start : min(end, start + MAX_RESULT + _MAX_INDENT)].strip()
        kind = kind_of(words)
        if kind == "text" and words != _END:
            inner, position = _text(text, number, min(end + 1, len(text)))
            yield inner
        elif frame := _frame(kind, number, words, last=start == last_line):
            yield frame


def _frame(kind: Kind, number: int, words: str, *, last: bool) -> Frame | None:
    if words == _END:
        return _malformed(number, f"{_END} without {_BEGIN}")
    if words in SKILL_RESULT:
        return None
    if kind and len(words) > MAX_RESULT:
        return _malformed(number, f"longer than {MAX_RESULT} characters")
    if kind == "skillResult":
        return _skill_result(number, words.partition("]")[2])
    if kind == "result":
        return {"kind": kind, "line": number, **_values(words)}
    if kind == "screenshot":
        return _screenshot(number, words)
    return {"kind": kind, "line": number, "text": words} if kind == "done" and last else None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _values(words: str) -> dict[str, Any]:
    """Return the ``key=value`` parts after the first bar; the last of duplicate keys wins."""
    values: dict[str, str] = {}
    single: list[str] = []
    for part in words.split("|")[1:]:
        key, equals, value = part.partition("=")
        if equals and key.strip():
            values[key.strip()] = value.strip()
        elif part.strip():
            single.append(part.strip())
    return {"values": values, **({"words": single} if single else {})}


def _screenshot(number: int, words: str) -> Frame:
    values = _values(words)["values"]
    path = values.pop("path", "")
    if not path:
        return _malformed(number, "SCREENSHOT without path")
    return {"kind": "screenshot", "line": number, "path": path, **({"values": values} if values else {})}


def _text(text: str, number: int, start: int) -> tuple[Frame, int]:
    """Return the text up to the end mark, including other markers, and the position after it."""
    found = _CLOSING.search(text, start)
    end, behind = (found.start(), found.end()) if found else (len(text), len(text))
    if end > start and text[end - 1] == "\n":
        end -= 1
    inner = text[start : min(end, start + MAX_RESULT)].replace("\r\n", "\n").removesuffix("\r")
    frame = {"kind": "text", "line": number, "text": inner, "complete": found is not None}
    return ({**frame, "truncated": True} if end - start > MAX_RESULT else frame), behind


def _skill_result(number: int, text: str) -> Frame:
    try:
        result = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        return _malformed(number, "the result is nested too deeply")
    except ValueError as exc:
        reason = exc.msg if isinstance(exc, json.JSONDecodeError) else str(exc)
        return _malformed(number, f"the result is not JSON: {reason}")
    if not isinstance(result, dict):
        return _malformed(number, "the result is not a JSON object")
    return {"kind": "skillResult", "line": number, "result": result}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _malformed(number: int, reason: str) -> Frame:
    return {"kind": "malformed", "line": number, "reason": reason}
