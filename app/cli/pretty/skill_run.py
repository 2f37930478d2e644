"""``--output pretty`` of ``skills run``: what a script left, and how an artifact's executions went."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text

_LONGEST = 400


def skill_run(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The verdict below the output, which has been streamed, and the results that were recognised in it."""
    spent = f"exit {data['exitCode']} after {data['durationMs'] / 1000:.1f} s"
    yield Text.assemble(("ok", GOOD), f"  {visible(data['skillId'])}  ", (spent, FAINT))
    frames = [frame for frame in data.get("frames", ()) if frame["kind"] != "done"]
    if frames:
        table = plain_table("found", "line", "content")
        for frame in frames:
            style = UNSURE if frame["kind"] == "malformed" else ""
            table.add_row(
                safe_text(frame["kind"], style),
                safe_text(frame.get("line", "")),
                safe_text(_content(frame)),
            )
        yield table


def _content(frame: Mapping[str, Any]) -> str:
    told = {key: value for key, value in frame.items() if key not in ("kind", "line")}
    only = next(iter(told.values())) if len(told) == 1 else told
    text = only if isinstance(only, str) else json.dumps(only, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def play_report(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The verdict, a table of the steps of every execution, then outputs, variance and errors."""
    verdict = ("failed", BAD) if data["errors"] else ("success", GOOD)
    ran = f"{len(data['executions'])} of {data['planned']} executions in {data['durationMs'] / 1000:.1f} s"
    named = data.get("skillId") or data.get("recipe", {}).get("id") or "compiled artifact"
    what = f"  {visible(named)} {visible(data.get('artifact', ''))} on {visible(data['deviceId'])}  "
    yield Text.assemble(verdict, what, (ran, FAINT))
    table = plain_table("command", "step", "action", "result", "data")
    for execution in data["executions"]:
        envelope = execution["envelope"]
        found = {step["id"]: step.get("data", {}) for step in envelope["stepResults"]}
        for step in execution["outcome"]["steps"]:
            style = {"done": GOOD, "failed": BAD}.get(step["status"], FAINT)
            result = safe_text(step["status"].replace("_", " "), style)
            names = (envelope["commandId"], step["id"], step["type"])
            table.add_row(*map(safe_text, names), result, safe_text(_short(found.get(step["id"], {}))))
    if table.row_count:
        yield table
    for choice in data.get("choices", ()):
        if choice["matcher"] is not None:
            taken = json.dumps(choice["matcher"], ensure_ascii=False)
            yield safe_text(f"step {choice['stepId']} used the node with {taken}", FAINT)
    for name, value in data.get("outputs", {}).items():
        yield Text.assemble("output  ", (visible(name), GOOD), f" = {visible(value)}")
    for entry in data.get("variance", ()):
        found = entry["found"].get("errorCode") or entry["found"].get("error")
        yield safe_text(f"optional step {entry['stepId']} was skipped: {found}", UNSURE)
    for error in data["errors"]:
        yield safe_text(f"{error.get('code', 'error')}: {error['message']}", BAD)
        if "expected" in error.get("details", {}):
            told = {key: error["details"][key] for key in ("expected", "actual") if key in error["details"]}
            yield safe_text(f"  {json.dumps(told, ensure_ascii=False)}", BAD)


def _short(data: Mapping[str, Any]) -> str:
    text = "  ".join(f"{key}: {value}" for key, value in data.items())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
