"""The brief form of results: the outcome, the data that steps returned, and views, nothing twice. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.engine.contracts.limits import DUMP_FORMAT
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.verbs.catalogue import VERBS

_DATA = {name: verb.data for name, verb in VERBS.items() if verb.data}
"""The data of successful steps that a caller cannot know before, by action type."""
_OF_REPORTS = ("ok", "outputs", "variance", "errors", "warnings")
_OF_SCRIPTS = ("ok", "skillResult", "frames", "outputTruncated", "warnings")


def brief(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the brief form of an execution's result, of a report of several executions, or of a script's result.

    Of a script's output, it has the frames; the whole output if there are none. Of a dump, it has the compact view, and only its id
    where ``then`` shows the same tree. Parses trees.
    """
    if "executions" in document:
        answer = {key: document[key] for key in _OF_REPORTS if key == "ok" or document.get(key)}
        answer["executions"] = [_brief(execution) for execution in document["executions"]]
    elif "output" in document:
        kept = (*_OF_SCRIPTS, *(() if document.get("frames") or "skillResult" in document else ("output",)))
        answer = {key: document[key] for key in kept if key in document}
    else:
        return {"ok": document["ok"], **_brief(document)}
    if then := document.get("then"):
        answer["then"] = brief_view(then)
    return answer


def _brief(document: Mapping[str, Any]) -> dict[str, Any]:
    outcome = document["outcome"]
    results = {result["id"]: result for result in document["envelope"]["stepResults"]}
    failed = outcome["status"] != "succeeded"
    steps = []
    then = document.get("then")
    shown = then["tree"] if then and then.get("view", "diff") != "diff" else None
    for step in outcome["steps"]:
        data = results.get(step["id"], {}).get("data", {})
        if step["type"] == "snapshot_ui":
            data = seen(data, shown)
        useful = {key: _read(key, data[key]) for key in _DATA.get(step["type"], ()) if key in data}
        if failed or useful:
            kept = {key: step[key] for key in ("id", "status", "code") if key in step}
            steps.append({**kept, **({"data": useful} if useful else {})})
    answer: dict[str, Any] = {"outcome": {"status": outcome["status"]}}
    if len(steps) == 1 and [*steps[0].get("data", ())] == ["view"] and not failed:
        answer["view"] = brief_view(steps[0]["data"]["view"])
    elif steps:
        for step in steps:
            if "view" in step.get("data", {}):
                step["data"]["view"] = brief_view(step["data"]["view"])
        answer["outcome"]["steps"] = steps
    if failed:
        answer["outcome"] |= {key: _brief_error(outcome[key]) for key in ("error",) if key in outcome}
        answer["executionId"] = document["executionId"]
    for key in ("selection", "result"):
        if facts := document.get(key):
            answer[key] = facts
    if then:
        answer["then"] = brief_view(then)
    if warnings := document.get("warnings"):
        answer["warnings"] = [{key: warning[key] for key in ("code", "message")} for warning in warnings]
    return answer


def _brief_error(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return an error without the device's words, of which its message is made."""
    details = {key: value for key, value in error.get("details", {}).items() if key != "deviceMessage"}
    return {
        **{key: value for key, value in error.items() if key != "details"},
        **({"details": details} if details else {}),
    }


def _read(key: str, value: Any) -> Any:
    """Return the value of JSON that the device wrote as text; what is no strict JSON, and other data, as they are."""
    if key not in ("query", "payload"):
        return value
    try:
        return parse_json(value)
    except EngineError:
        return value


def seen(data: Mapping[str, Any], shown: str | None = None) -> Mapping[str, Any]:
    """Return the data of a snapshot with a view in place of the dump; only the tree's id if it is the one ``shown`` in ``then``.

    Parses the tree. What is no whole dump stays as it is.
    """
    if "view" in data:
        tree, view = data["view"].get("tree"), data["view"]
    elif (
        not isinstance(data.get("text"), str)
        or data.get("actual_format", DUMP_FORMAT) != DUMP_FORMAT
        or "truncated" in data
    ):
        return data
    else:
        from clawperator.engine.contracts.references import tree_id
        from clawperator.engine.hierarchy.blind import facts_of_step
        from clawperator.engine.hierarchy.tree import parse
        from clawperator.engine.hierarchy.views import view as view_of

        tree, view = tree_id(data["text"]), None
        if tree != shown:
            try:
                view = view_of(parse(data["text"], recover=True), "compact", data["text"], None, facts_of_step(data))
            except EngineError:  # the text stands for itself
                return data
    rest = {key: value for key, value in data.items() if key == "warn"}
    return {"tree": tree, **rest} if tree == shown else {"view": view, **rest}


def brief_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return a view without what a caller of the last view knows."""
    answer = {key: value for key, value in view.items() if key not in ("screen", "folded")}
    if "blind" in answer:
        answer["blind"] = [
            {key: spot[key] for key in ("kind", "certainty", "where") if key in spot} for spot in answer["blind"]
        ]
    if "settledMs" in answer:
        answer["settledMs"] = round(answer["settledMs"], -1)
    return answer
