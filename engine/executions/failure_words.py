"""Why a step failed, as a sentence about its selector: the device writes its matchers in a form of its own. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.errors import ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.contracts.execution import Execution
    from clawperator.engine.executions.outcome import ExecutionOutcome

_FIELDS = {
    "textEquals": "text {}",
    "textContains": "text containing {}",
    "resourceId": "id {}",
    "contentDescEquals": "description {}",
    "contentDescContains": "description containing {}",
    "role": "role {}",
    "ref": "reference {}",
    "ancestor": "an ancestor with {}",
    "descendant": "a descendant with {}",
}
_SENTENCES = {
    ErrorCode.NODE_NOT_FOUND: "no node with {node}",
    ErrorCode.NODE_AMBIGUOUS: "several nodes with {node}",
    ErrorCode.NODE_NOT_CLICKABLE: "the click on the node with {node} failed",
    ErrorCode.NODE_TEXT_EMPTY: "the node with {node} has no text",
    ErrorCode.SET_TEXT_FAILED: "the node with {node} did not take the text",
    ErrorCode.WAIT_TIMEOUT: "no node with {node} appeared{limit}",
    ErrorCode.TARGET_NOT_FOUND: "no node with {node} was reached by scrolling",
    ErrorCode.NAVIGATION_TIMEOUT: "{awaited} did not appear{limit}",
    ErrorCode.CONTAINER_NOT_FOUND: "no container with {container}",
    ErrorCode.CONTAINER_AMBIGUOUS: "several containers with {container}",
    ErrorCode.CONTAINER_NOT_SCROLLABLE: "the container with {container} does not scroll",
}
"""By code; a code whose parts the action does not have keeps the device's words."""
_NO_SCROLLABLE = "no scrollable container on the screen"
_SELECTORS = ("matcher", "target", "labelMatcher", "expectedNode")
_KOTLIN = re.compile(r"NodeMatcher\(.*\)")


def selector_words(fields: Mapping[str, Any]) -> str:
    """Return the fields of a matcher as words, such as ``text "OK" and role "button"``."""
    return " and ".join(
        _FIELDS[name].format(
            selector_words(value) if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False)
        )
        for name, value in fields.items()
        if name in _FIELDS
    )


def sentence(code: str, params: Mapping[str, Any]) -> str:
    """Return what the error ``code`` means for an action with ``params``; empty where there is nothing to add."""
    node = next((params[name] for name in _SELECTORS if params.get(name)), None)
    container, within, nth = params.get("container"), params.get("within"), params.get("nth")
    awaited = [str(params["expectedPackage"])] if params.get("expectedPackage") else []
    words: dict[str, str] = {"limit": f" within {params['timeoutMs']} ms" if "timeoutMs" in params else ""}
    if node:
        words["node"] = (
            selector_words(node)
            + (f" in the container with {selector_words(container)}" if container else "")
            + (f" in the row of the node with {selector_words(within)}" if within else "")
        )
        awaited.append(f"a node with {words['node']}")
    if nth and node and code == ErrorCode.NODE_NOT_FOUND:
        return f"fewer than {nth + 1} nodes with {words['node']}"
    if container or within:
        words["container"] = " or ".join(selector_words(place) for place in (container, within) if place)
    elif code == ErrorCode.CONTAINER_NOT_FOUND:
        return _NO_SCROLLABLE
    if awaited:
        words["awaited"] = " or ".join(awaited)
    known = ErrorCode.known(code)
    try:
        return _SENTENCES[known].format(**words) if known in _SENTENCES else ""
    except KeyError:  # a part that this action does not have
        return ""


def in_words(
    outcome: ExecutionOutcome, execution: Execution, data: Mapping[str, Mapping[str, str]]
) -> ExecutionOutcome:
    """Return ``outcome`` with a message about the selector of the failed step; ``details.deviceMessage`` has the device's."""
    error, failed = outcome.error, outcome.failed_step
    if error is None or failed is None or failed.index >= len(execution.actions):
        return outcome
    params, code, ours = execution.actions[failed.index].params, error["code"], str(error["message"])
    of_step = data.get(failed.id, {})
    device = next((text for text in (of_step.get("message"), of_step.get("error"), ours) if text and text != code), "")
    node: Mapping[str, Any] = next((params[name] for name in _SELECTORS if params.get(name)), {})
    message = sentence(code, params)
    if not message and ("NodeMatcher(" in device or ours.endswith(f" failed: {code}")):
        message = _KOTLIN.sub(lambda _: f"node with {selector_words(node)}", device)
    if not message or message == ours:
        return outcome
    original = {} if device in (ours, message) and ours.startswith("Step ") else {"deviceMessage": device}
    details = {**error.get("details", {}), **original}
    return replace(outcome, error={**error, "message": message, **({"details": details} if details else {})})
