"""``--output pretty`` of ``history``."""

from __future__ import annotations

import math
import re
import time

from rich.text import Text

from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, FittingRecords, line, records, safe_text
from clawperator.app.cli.pretty.trees import draw_dump, without_dumps
from clawperator.engine.executions.headline import result_words, short_source

_DUMP = re.compile(r"<(\?xml|hierarchy)\b.*")
_STYLES = {"success": GOOD, "failed": BAD, "refused": UNSURE, "interrupted": UNSURE, "running": "", "unknown": FAINT}


def runs(data: Data) -> Drawing:
    if not data["executions"]:
        yield safe_text("No matching runs." if data["total"] else "No runs in the history, or none match.", UNSURE)
        return
    columns: Columns = {
        "run": "number",
        "started": lambda run: (_moment(run["startedAt"]), FAINT),
        "status": _status,
        "source": lambda run: short_source(run["source"]),
        "step": _step,
        "action": "action",
        "result": lambda run: (result_words(run["code"], run.get("outcome")), BAD),
        "duration": lambda run: (_seconds(run["durationMs"]), FAINT),
        "device": lambda run: (run["deviceId"], FAINT),
        "command": lambda run: (run["commandId"], FAINT),
    }
    yield FittingRecords(data["executions"], columns, spare=("command", "source", "step", "device"))
    if data["hasMore"]:
        last = data["executions"][-1]["number"]
        yield safe_text(f"{data['total']} in total; use --before {last} for older runs", FAINT)


def _status(run: Data) -> Text:
    failed_steps = run["status"] == "success" and run["failedSteps"]
    failed = f", {run['failedSteps']} failed" if failed_steps else ""
    seen = " (seen)" if run["origin"] == "seen" else ""
    return safe_text(f"{run['status']}{failed}{seen}", UNSURE if failed_steps else _STYLES.get(run["status"], ""))


def _step(run: Data) -> str:
    """Return which of the steps failed, else their number."""
    failed = (run.get("outcome") or {}).get("failedStep")
    return f"{failed['index'] + 1}/{run['actionCount']}" if failed else str(run["actionCount"] or "")


def run(data: Data) -> Drawing:
    run = data["execution"]
    yield line(_status(run), f"  {run['commandId']} on {run['deviceId'] or 'no device'}", (f"  {run['number']}", FAINT))
    for key in ("code", "message", "source", "taskId", "face", "backend", "package", "executionId"):
        if run.get(key):
            yield safe_text(f"  {key}: {run[key]}", BAD if key in ("code", "message") else FAINT)
    duration = _seconds(run["durationMs"]) or "unknown"
    yield safe_text(f"  started: {_moment(run['startedAt'])}, duration: {duration}", FAINT)
    if late := run.get("lateResult"):
        received = f"{_seconds(late['afterMs'])} after the run ended ({_moment(late['at'])})"
        yield safe_text(f"  late result: {late['envelope'].get('status')}, received {received}", UNSURE)
    if run["phases"]:
        spent = ", ".join(f"{name} {milliseconds:.0f}" for name, milliseconds in run["phases"].items())
        yield safe_text(f"  phases in ms: {spent}", FAINT)
    if hint := ((run.get("outcome") or {}).get("error") or {}).get("hint"):
        yield safe_text(f"  {hint}", UNSURE)
    if run["steps"]:
        columns: Columns = {
            "step": "id",
            "action": "type",
            "result": _result,
            "duration": lambda step: _seconds(_between(step["startedAt"], step["endedAt"])),
            "data": lambda step: (
                ", ".join(f"{key}: {without_dumps(value)}" for key, value in step["data"].items()),
                FAINT,
            ),
        }
        yield records(run["steps"], columns)
    if run["lines"]:
        yield Text("")
        columns = {
            "after": lambda each: (_seconds(_between(run["startedAt"], each["at"])), FAINT),
            "kind": "kind",
            "line": lambda each: _DUMP.sub("(UI tree)", each["text"].partition("\n")[0]),
        }
        yield records(run["lines"], columns)
    for tree in run["trees"]:
        words = f"tree of {tree['stepId'] or 'no step'}: {tree['characters']} characters, {tree['digest'][:12]}"
        yield safe_text(words if tree["complete"] else f"{words}, incomplete", FAINT)


def _result(step: Data) -> tuple[str, str]:
    code = f" {step['code']}" if step["code"] else ""
    return f"{step['status'].replace('_', ' ')}{code}", _STYLES.get(step["status"], "")


def run_tree(data: Data) -> Drawing:
    yield from draw_dump(data["tree"]["text"])


def exported(data: Data) -> Drawing:
    yield safe_text(f"{data['executions']} runs, {data['bytes']} bytes: {data['path']}")


def pruned(data: Data) -> Drawing:
    freed = (data["bytesBefore"] - data["bytesAfter"]) / 1_000_000
    removed = f"Deleted {data['removed']} runs and {data['trees']} trees, {freed:.1f} MB"
    yield safe_text(f"{removed}; {data['kept']} runs remain.")


def audit(data: Data) -> Drawing:
    if not data["audit"]:
        yield safe_text("No matching audit entries.", UNSURE)
        return
    columns: Columns = {
        "number": "number",
        "time": lambda entry: (_moment(entry["at"]), FAINT),
        "event": lambda entry: (entry["event"], UNSURE if entry["event"] == "refused" else ""),
        "command": "commandId",
        "skill": lambda entry: entry["skillId"] or entry["recipeId"],
        "device": "deviceId",
        "by": lambda entry: " ".join(filter(None, (entry["face"], entry["caller"], entry["peer"]))),
        "what": lambda entry: (entry["operation"] or " ".join(entry["actionTypes"]), FAINT),
        "duration": lambda entry: _seconds(entry["durationMs"]),
        "outcome": _audit_outcome,
    }
    yield FittingRecords(data["audit"], columns, spare=("command", "skill", "by", "duration"))
    if data["hasMore"]:
        yield safe_text(f"use --before {data['audit'][-1]['number']} for older entries", FAINT)


def _audit_outcome(entry: Data) -> tuple[str, str]:
    repeated = f"x{entry['times']}" if entry["times"] > 1 else ""
    outcome = (entry["code"], entry["denied"], entry["profile"] and f"({entry['profile']})", repeated)
    return " ".join(filter(None, outcome)), BAD if entry["code"] else FAINT


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) * 1000


def _seconds(milliseconds: float | None) -> str:
    return "" if milliseconds is None or math.isnan(milliseconds) else f"{milliseconds / 1000:.2f} s"


def _moment(at: float | None) -> str:
    try:
        return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return ""
