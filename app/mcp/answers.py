"""Answers of tools: one JSON document, as structured content and as text, within a budget."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mcp_types import CallToolResult, ContentBlock, TextContent

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.observe.trees import viewed

DEFAULT_BYTES = 8_192
"""What a view of a tree may take unless the caller says otherwise: some 2,500 tokens."""
_ERROR_TEXT = 4_096
"""The end of each long text in an error: what a script said last tells most."""


class Reply(NamedTuple):
    """``failed``: the call was answered, and what was asked for did not come about."""

    document: Mapping[str, Any]
    failed: bool = False
    more: Sequence[ContentBlock] = ()


def result_of(reply: Reply) -> CallToolResult:
    """For the wire, on which lone surrogates, which a device can well send, have no form: they are replaced."""
    text = json.dumps(reply.document, ensure_ascii=False, separators=(",", ":"))
    document: Any = reply.document
    if not _is_sound(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        document = json.loads(text)
    content: list[ContentBlock] = [TextContent(text=text), *reply.more]
    return CallToolResult(content=content, structured_content=document, is_error=reply.failed)


def _is_sound(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refusal(error: EngineError) -> Reply:
    """An error as the answer: code, message, hint and whether the same call may be repeated."""
    return Reply(bounded(error.to_answer(), _ERROR_TEXT), failed=True)


def bounded(value: Any, limit: int) -> Any:
    """``value`` with only the ends of texts that are longer than ``limit`` bytes."""
    if isinstance(value, str):
        return tail(value, limit)
    if isinstance(value, Mapping):
        return {key: bounded(inner, limit) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(inner, limit) for inner in value]
    return value


def tail(text: str, limit: int) -> str:
    """The end of ``text``, at most ``limit`` bytes of UTF-8."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    return f"[{len(raw) - limit} bytes left out] " + raw[-limit:].decode("utf-8", "ignore")


def lean(envelope: dict[str, Any], view: str, max_bytes: int) -> None:
    """Put a view of each tree in place of its dump, as ``inspect ui --view`` does: a dump can be a quarter of a megabyte."""
    for step in envelope.get("stepResults", ()):
        data = step["data"]
        if step["actionType"] == "snapshot_ui" and isinstance(data.get("text"), str):
            xml = data.pop("text")
            try:
                data["view"] = viewed(xml, parse(xml, recover=True), view, max_bytes)
            except EngineError as exc:  # what the device did is not undone by a tree that nobody can read
                data["view"] = {"view": view, "error": exc.to_dict()}


def outcome(document: Mapping[str, Any]) -> Reply:
    """The engine result ``document``; beside an envelope of which not everything worked stands why, as errors say it."""
    envelope = document["envelope"]
    step = next((step for step in envelope["stepResults"] if not step["success"]), None)
    if envelope["status"] == "success" and step is None:
        return Reply(document)
    found = envelope.get("errorCode") or (step or {"data": {}})["data"].get("error") or ""
    code = ErrorCode.known(found)
    failure = {
        "code": found or "UNKNOWN",
        "message": envelope.get("error") or f"Step {(step or {}).get('id')} failed",
        "hint": envelope.get("hint") or (code.hint if code else "Take a snapshot, then decide."),
        "retryable": code.retryable if code else False,
    }
    return Reply({**document, "failure": failure}, failed=True)
