"""``--output pretty`` of ``history``."""

from __future__ import annotations

import math
import time

from rich.text import Text

from clawperator.app.cli.pretty.toolbox import BAD, FAINT, GOOD, UNSURE, Data, Drawing, line, plain_table, safe_text

_STYLES = {"success": GOOD, "failed": BAD, "refused": UNSURE, "interrupted": UNSURE, "running": "", "unknown": FAINT}


def runs(data: Data) -> Drawing:
    if not data["executions"]:
        yield safe_text("No matching runs." if data["total"] else "No runs in the history, or none match.", UNSURE)
        return
    yield plain_table(
        ("run", "started", "status", "command", "source", "device", "steps", "duration", "code"),
        (
            (
                run["number"],
                (_moment(run["startedAt"]), FAINT),
                _status(run),
                run["commandId"],
                run["source"],
                run["deviceId"],
                run["actionCount"],
                _seconds(run["durationMs"]),
                (run["code"], BAD),
            )
            for run in data["executions"]
        ),
    )
    if data["hasMore"]:
        last = data["executions"][-1]["number"]
        yield safe_text(f"{data['total']} in total; use --before {last} for older runs", FAINT)


def _status(run: Data) -> Text:
    failed_steps = run["status"] == "success" and run["failedSteps"]
    failed = f", {run['failedSteps']} failed" if failed_steps else ""
    seen = " (seen)" if run["origin"] == "seen" else ""
    return safe_text(f"{run['status']}{failed}{seen}", UNSURE if failed_steps else _STYLES.get(run["status"], ""))


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
        yield plain_table(("step", "action", "result", "duration", "data"), map(_step, run["steps"]))
    if run["lines"]:
        yield Text("")
        yield plain_table(
            ("after", "kind", "line"),
            (
                (
                    (_seconds(_between(run["startedAt"], each["at"])), FAINT),
                    each["kind"],
                    each["text"].partition("\n")[0],
                )
                for each in run["lines"]
            ),
        )
    for tree in run["trees"]:
        words = f"tree of {tree['stepId'] or 'no step'}: {tree['characters']} characters, {tree['digest'][:12]}"
        yield safe_text(words if tree["complete"] else f"{words}, incomplete", FAINT)


def _step(step: Data) -> tuple[object, ...]:
    code = f" {step['code']}" if step["code"] else ""
    return (
        step["id"],
        step["type"],
        (f"{step['status'].replace('_', ' ')}{code}", _STYLES.get(step["status"], "")),
        _seconds(_between(step["startedAt"], step["endedAt"])),
        (", ".join(f"{key}: {value}" for key, value in step["data"].items()), FAINT),
    )


def run_tree(data: Data) -> Drawing:
    yield safe_text(data["tree"]["text"], lines=True)


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
    yield plain_table(
        ("number", "time", "event", "command", "skill", "device", "by", "what", "duration", "outcome"),
        map(_audit_row, data["audit"]),
    )
    if data["hasMore"]:
        yield safe_text(f"use --before {data['audit'][-1]['number']} for older entries", FAINT)


def _audit_row(entry: Data) -> tuple[object, ...]:
    repeated = f"x{entry['times']}" if entry["times"] > 1 else ""
    outcome = (entry["code"], entry["denied"], entry["profile"] and f"({entry['profile']})", repeated)
    return (
        entry["number"],
        (_moment(entry["at"]), FAINT),
        (entry["event"], UNSURE if entry["event"] == "refused" else ""),
        entry["commandId"],
        entry["skillId"] or entry["recipeId"],
        entry["deviceId"],
        " ".join(filter(None, (entry["face"], entry["caller"], entry["peer"]))),
        (entry["operation"] or " ".join(entry["actionTypes"]), FAINT),
        _seconds(entry["durationMs"]),
        (" ".join(filter(None, outcome)), BAD if entry["code"] else FAINT),
    )


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) * 1000


def _seconds(milliseconds: float | None) -> str:
    return "" if milliseconds is None or math.isnan(milliseconds) else f"{milliseconds / 1000:.2f} s"


def _moment(at: float | None) -> str:
    try:
        return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return ""
