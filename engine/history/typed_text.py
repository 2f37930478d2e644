"""Typed passwords, which no row of the history holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawperator.engine.contracts.execution import Execution
    from clawperator.engine.executions.trace import Trace
    from clawperator.engine.hierarchy.nodes import UiTree
    from clawperator.engine.history.records import LineRecord, RunRecord

_ANYWHERE = "input_text"
"""Types into what has the focus, which no matcher names."""
_TYPING = ("enter_text", _ANYWHERE)
_NAMED = re.compile(r"passw|pass_?(?:code|phrase)|secret|(?<![a-z])(?:pin|otp|cvv)(?![a-z])", re.IGNORECASE)


def without_typed(payload: Mapping[str, Any], ids: Collection[str] | None = None) -> Mapping[str, Any]:
    """Return a valid payload without the texts that the steps ``ids`` (default: all) type: it cannot be dispatched again as it stands."""
    actions = payload["actions"]
    if not any(_types(action, ids) for action in actions):
        return payload
    hidden = [
        {**action, "params": {**action["params"], "text": ""}} if _types(action, ids) else action for action in actions
    ]
    return {**payload, "actions": hidden}


def _types(action: Mapping[str, Any], ids: Collection[str] | None) -> bool:
    return action["type"] in _TYPING and (ids is None or action["id"] in ids)


def password_steps(execution: Execution, trace: Trace) -> dict[str, str]:
    """Return the texts that were typed into password fields, by step id; parses trees.

    A field is one if a tree of the run, or the last one before it, says so, or else if its selector names a password.
    ``input_text`` counts always, because its field is unknown.
    """
    typing = [action for action in execution.actions if action.type in _TYPING]
    trees = _trees(trace) if any(action.type != _ANYWHERE for action in typing) else []
    return {
        action.id: str(action.params.get("text", ""))
        for action in typing
        if action.type == _ANYWHERE or _is_password(action.params.get("matcher") or {}, trees)
    }


def _trees(trace: Trace) -> list[UiTree]:
    from clawperator.engine.errors import EngineError
    from clawperator.engine.hierarchy.tree import parse

    seen = [*([trace.tree_before] if trace.tree_before is not None else ()), *trace.trees]
    trees = []
    for xml in dict.fromkeys(tree.xml for _, tree in seen):
        try:
            trees.append(parse(xml, recover=True))
        except EngineError:
            continue
    return trees


def _is_password(fields: Mapping[str, str], trees: list[UiTree]) -> bool:
    from clawperator.engine.hierarchy.match import Matcher, find_all

    matcher = Matcher.from_fields({name: value for name, value in fields.items() if name != "ref"})
    for tree in trees if fields.keys() - {"ref"} else ():
        for node in find_all(tree, matcher)[:1]:
            if any(near.password for near in (node, *node.ancestors)):
                return True
    return any(_NAMED.search(value) for value in fields.values())


def typed_by(envelope: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that the steps of another program's run typed, by step id: into which fields is unknown."""
    steps = envelope.get("stepResults", ())
    return {step["id"]: str(step["data"].get("text", "")) for step in steps if step["actionType"] == "enter_text"}


def without_passwords(run: RunRecord, typed: Mapping[str, str]) -> RunRecord:
    """Return ``run`` without the texts that its steps typed into password fields, and without the device's word for the result."""
    from clawperator.engine.diagnostics.safe_logs import mask_line

    if not typed:
        return run

    def line(record: LineRecord) -> LineRecord:
        shows = any(text and text in record.text for text in typed.values())
        return record._replace(text=mask_line(record.text), fields={}) if shows else record

    return run._replace(
        payload=None if run.payload is None else without_typed(run.payload, typed),
        envelope=_hidden(run.envelope, typed),
        raw=(),
        lines=tuple(map(line, run.lines)),
    )


def _hidden(envelope: Mapping[str, Any] | None, typed: Mapping[str, str]) -> Mapping[str, Any] | None:
    if envelope is None:
        return None
    steps = [
        {**step, "data": _untyped(step["data"])} if step["id"] in typed else step for step in envelope["stepResults"]
    ]
    return {**envelope, "stepResults": steps}


def _untyped(data: Mapping[str, Any]) -> dict[str, Any]:
    return {**data, "text": ""} if "text" in data else dict(data)
