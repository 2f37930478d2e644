"""``history`` in ``--output pretty``: runs as a table, one run as a story."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType
    from rich.table import Table

_STYLES = {"success": GOOD, "failed": BAD, "refused": UNSURE, "interrupted": UNSURE, "running": "", "unknown": FAINT}


def runs(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not data["executions"]:
        yield safe_text("No matching runs." if data["total"] else "No runs in the history, or none match.", UNSURE)
        return
    table = plain_table("number", "began", "status", "command", "source", "device", "steps", "took", "code")
    for run in data["executions"]:
        table.add_row(
            safe_text(run["number"]),
            safe_text(_moment(run["startedAt"]), FAINT),
            _status(run),
            safe_text(run["commandId"]),
            safe_text(run["source"]),
            safe_text(run["deviceId"]),
            safe_text(run["actionCount"]),
            safe_text(_seconds(run["durationMs"])),
            safe_text(run["code"], BAD),
        )
    yield table
    if data["hasMore"]:
        last = data["executions"][-1]["number"]
        yield safe_text(f"{data['total']} in total; use --before {last} for older runs", FAINT)


def _status(run: Mapping[str, Any]) -> Text:
    words = run["status"] + (
        f", {run['failedSteps']} failed" if run["failedSteps"] and run["status"] == "success" else ""
    )
    words += " (seen)" if run["origin"] == "seen" else ""
    return safe_text(
        words, UNSURE if run["failedSteps"] and run["status"] == "success" else _STYLES.get(run["status"], "")
    )


def run(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    run = data["execution"]
    yield Text.assemble(
        _status(run),
        f"  {visible(run['commandId'])} on {visible(run['deviceId'] or 'no device')}",
        (f"  {run['number']}", FAINT),
    )
    for key in ("code", "message", "source", "taskId", "face", "backend", "package", "executionId"):
        if run.get(key):
            yield safe_text(f"  {key}: {run[key]}", BAD if key in ("code", "message") else FAINT)
    yield safe_text(
        f"  began: {_moment(run['startedAt'])}, took {_seconds(run['durationMs']) or 'an unknown duration'}", FAINT
    )
    if late := run.get("lateResult"):
        came = f"{_seconds(late['afterMs'])} after the run ended ({_moment(late['at'])})"
        yield safe_text(f"  late result: {late['envelope'].get('status')}, received {came}", UNSURE)
    if run["phases"]:
        spent = ", ".join(f"{name} {milliseconds:.0f}" for name, milliseconds in run["phases"].items())
        yield safe_text(f"  phases in ms: {spent}", FAINT)
    if hint := ((run.get("outcome") or {}).get("error") or {}).get("hint"):
        yield safe_text(f"  {hint}", UNSURE)
    if run["steps"]:
        yield _steps(run)
    if run["lines"]:
        yield Text("")
        yield _lines(run)
    for tree in run["trees"]:
        words = f"tree of {tree['stepId'] or 'no step'}: {tree['characters']} characters, {tree['digest'][:12]}"
        yield safe_text(words if tree["complete"] else f"{words}, incomplete", FAINT)


def _steps(run: Mapping[str, Any]) -> Table:
    table = plain_table("step", "action", "result", "took", "data")
    for step in run["steps"]:
        code = f" {step['code']}" if step["code"] else ""
        data = ", ".join(f"{key}: {value}" for key, value in step["data"].items())
        table.add_row(
            safe_text(step["id"]),
            safe_text(step["type"]),
            safe_text(f"{step['status'].replace('_', ' ')}{code}", _STYLES.get(step["status"], "")),
            safe_text(_seconds(_between(step["startedAt"], step["endedAt"]))),
            safe_text(data, FAINT),
        )
    return table


def _lines(run: Mapping[str, Any]) -> Table:
    table = plain_table("after", "what", "line")
    for line in run["lines"]:
        after = _seconds(_between(run["startedAt"], line["at"]))
        table.add_row(safe_text(after, FAINT), safe_text(line["kind"]), safe_text(line["text"].partition("\n")[0]))
    return table


def run_tree(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(data["tree"]["text"], lines=True)


def exported(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(f"{data['executions']} runs, {data['bytes']} bytes: {data['path']}")


def pruned(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    freed = (data["bytesBefore"] - data["bytesAfter"]) / 1_000_000
    yield safe_text(
        f"Deleted {data['removed']} runs and {data['trees']} trees, {freed:.1f} MB; {data['kept']} runs remain."
    )


def audit(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not data["audit"]:
        yield safe_text("No matching audit entries.", UNSURE)
        return
    table = plain_table("number", "at", "event", "command", "skill", "device", "by", "what", "took", "outcome")
    for entry in data["audit"]:
        more = f"x{entry['times']}" if entry["times"] > 1 else ""
        words = (entry["code"], entry["denied"], entry["profile"] and f"({entry['profile']})", more)
        outcome = " ".join(filter(None, words))
        table.add_row(
            safe_text(entry["number"]),
            safe_text(_moment(entry["at"]), FAINT),
            safe_text(entry["event"], UNSURE if entry["event"] == "refused" else ""),
            safe_text(entry["commandId"]),
            safe_text(entry["skillId"] or entry["recipeId"]),
            safe_text(entry["deviceId"]),
            safe_text(" ".join(filter(None, (entry["face"], entry["caller"], entry["peer"])))),
            safe_text(entry["operation"] or " ".join(entry["actionTypes"]), FAINT),
            safe_text(_seconds(entry["durationMs"])),
            safe_text(outcome, BAD if entry["code"] else FAINT),
        )
    yield table
    if data["hasMore"]:
        yield safe_text(f"use --before {data['audit'][-1]['number']} for older entries", FAINT)


def _between(began: float | None, ended: float | None) -> float | None:
    return None if began is None or ended is None else (ended - began) * 1000


def _seconds(milliseconds: float | None) -> str:
    return "" if milliseconds is None or math.isnan(milliseconds) else f"{milliseconds / 1000:.2f} s"


def _moment(at: float | None) -> str:
    try:
        return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return ""
