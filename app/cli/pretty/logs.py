"""``--output pretty`` of ``logs`` and ``watch``: one line per entry or event."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

from rich.text import Text

from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Data, Drawing, line, safe_text
from clawperator.engine.executions.headline import result_words, short_source

_STYLES = {"debug": FAINT, "info": GOOD, "warn": UNSURE, "error": BAD}
_MAIN_KEYS = ("ts", "level", "event", "message")


def log_lines(lines: Sequence[str]) -> Drawing:
    """Draw lines of the log file without their JSON."""
    yield from map(_log_line, lines)


def _log_line(text: str) -> Text:
    try:
        entry = json.loads(text)
        ts, level, event, message = (str(entry[key]) for key in _MAIN_KEYS)
    except (ValueError, TypeError, KeyError):  # written by another program
        return safe_text(text, FAINT)
    rest = "  ".join(f"{key}={value}" for key, value in entry.items() if key not in _MAIN_KEYS)
    return line((ts, FAINT), "  ", (event, _STYLES.get(level, "")), f"  {message}  ", (rest, FAINT))


def event(data: Data) -> Drawing:
    """Draw one line of ``watch`` as a row: time, state, what happened, command."""
    clock = time.strftime("%H:%M:%S", time.localtime(data["at"]))
    word, style, words = _SENTENCES[data["event"]](data)
    command = data.get("commandId") or ""
    yield line((clock, FAINT), "  ", (f"{word:<8}", style), "  ", words, (f"  {command}" if command else "", FAINT))


_Sentence = tuple[str, str, str]
"""State, its style, and what happened."""


def _progress(data: Data) -> _Sentence:
    kind, fields = data["kind"], data["fields"]
    name = fields.get("id", "").partition("(")[0]
    attempt = f" {fields['attempt']}" if fields.get("attempt") else ""
    reason = f": {fields['reason']}" if fields.get("reason") else ""
    match kind:
        case "queued":
            return "waiting", UNSURE, "for the previous command"
        case "start":
            source = short_source(fields.get("source", ""))
            return "running", GOOD, f"{source} {fields.get('actionCount', '?')} steps".strip()
        case "step-start" | "stage-start":
            return "running", "", name
        case "step-success" | "stage-success":
            return "ok", GOOD, name
        case "stage-retry":
            return "retry", UNSURE, f"{name}{attempt}{reason}"
        case "stage-failure" | "failure":
            return "failed", BAD, f"{name}{reason}".removeprefix(": ")
        case "success":
            return "ok", GOOD, f"{fields.get('stepCount', 'all')} steps"
        case _:
            return "event", FAINT, f"{kind.replace('-', ' ')} {name}".strip() + reason


def _envelope(data: Data) -> _Sentence:
    outcome = data.get("outcome") or {}
    failure, failed = outcome.get("error"), outcome.get("failedStep")
    status = str(outcome.get("status") or (data["envelope"] or {}).get("status", "done"))
    if failure is None and failed is None:
        return "done", GOOD, status
    at = f" at step {failed['index'] + 1}, {failed['type']}" if failed else ""
    return "failed", BAD, f"{result_words(failure['code']) if failure else status}{at}"


def _snapshot(data: Data) -> _Sentence:
    size = data["bytes"] if "bytes" in data else len(data["text"].encode())
    return "tree", GOOD, f"{size:,} bytes{'' if data['complete'] else ', incomplete'}"


def _unreadable(data: Data) -> str:
    what = "the plan has run, its result is lost" if data.get("transport") else "unreadable result"
    return f"{what}: {data['problem']}"


_SENTENCES: Mapping[str, Callable[[Data], _Sentence]] = {
    "progress": _progress,
    "envelope": _envelope,
    "unreadable": lambda data: ("failed", BAD, _unreadable(data)),
    "snapshot": _snapshot,
    "attached": lambda data: ("watching", GOOD, data["deviceId"] or ""),
    "gap": lambda data: ("gap", UNSURE, data["reason"]),
}
