"""Answers of tools: one JSON document, as structured content and as text, within a budget."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_types import CallToolResult, ContentBlock, TextContent

from clawperator.app.hints import MATCH_COMMAND, worded
from clawperator.app.serve.answers import encode
from clawperator.engine.contracts.limits import RENDERED_FORMATS
from clawperator.engine.errors import EngineError
from clawperator.engine.follow.trees import viewed
from clawperator.engine.hierarchy.tree import parse

if TYPE_CHECKING:
    from clawperator.engine.skills.play import PlayReport

DEFAULT_BYTES = 8_192
"""What a view of a tree may take unless the caller says otherwise: some 2,500 tokens."""
_ERROR_TEXT = 4_096
"""The end of each long text in an error: what a script said last tells most."""

_TOOL_WORDS = {
    MATCH_COMMAND: "call `match` with `selector` as in details.selector.",
    "--device-id": "`deviceId`",
    "--vars": "`variables`",
    "with --artifact": "with the argument `artifact` of `skill_run`",
    "--artifact": "`artifact`",
    "Run `clawperator skills search`.": "List the skills with `skills_search`.",
    "Run `clawperator skills get`.": "`skills_search` with `skillId` lists the artifacts.",
    "Run `clawperator skills sync`.": "This skill is incomplete on the server. Use `skills_search` to list the others.",
    "Run `clawperator skills install`, or check CLAWPERATOR_SKILLS_REGISTRY.": "This server's registry cannot be read.",
    "Run `clawperator skills validate` for the skill, or reinstall the skills.": "A file on the server cannot be read.",
    "Pass a JSON object, quoted for the shell.": "Send `variables` as an object of strings, numbers and booleans.",
}
"""What hints say on a command line, and what they say to a client of MCP."""


class Reply(NamedTuple):
    """``failed``: the call was answered, and what was asked for did not come about."""

    document: Mapping[str, Any]
    failed: bool = False
    more: Sequence[ContentBlock] = ()


def result_of(reply: Reply) -> CallToolResult:
    """For the wire, on which lone surrogates, which a device can well send, have no form: they are replaced."""
    text = json.dumps(reply.document, ensure_ascii=False)
    document: Any = reply.document
    if not _is_sound(text):
        document = json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    text = encode(document).decode()
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
    return Reply(worded(bounded(error.to_answer(), _ERROR_TEXT), _TOOL_WORDS), failed=True)


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
    return f"[{len(raw) - limit} bytes omitted] " + raw[-limit:].decode("utf-8", "ignore")


async def played(report: PlayReport, arguments: Mapping[str, Any]) -> Reply:
    """How the executions of a compiled artifact went, each tree as the ``view`` that ``arguments`` ask for."""
    document = worded(report.to_dict(), _TOOL_WORDS)
    view, most = arguments.get("view", "interactive"), int(arguments.get("maxBytes", DEFAULT_BYTES))
    for execution in document["executions"]:
        await asyncio.to_thread(lean, execution["envelope"], view, most)
    return Reply(document, failed=report.failed)


def lean(envelope: dict[str, Any], view: str, max_bytes: int) -> None:
    """Put a view of each tree in place of its dump, as ``inspect ui --view`` does: a dump can be a quarter of a megabyte."""
    for step in envelope.get("stepResults", ()):
        data = step["data"]
        if step["actionType"] == "snapshot_ui" and isinstance(data.get("text"), str):
            if data.get("actual_format") in RENDERED_FORMATS:  # rendered as the plan asks
                raw = data["text"].encode("utf-8", "surrogatepass")
                if len(raw) > max_bytes:
                    data |= {"text": raw[:max_bytes].decode("utf-8", "ignore"), "truncated": "true"}
                continue
            xml = data.pop("text")
            try:
                data["view"] = viewed(xml, parse(xml, recover=True), view, max_bytes)
            except EngineError as exc:  # what the device did is not undone by a tree that nobody can read
                data["view"] = {"view": view, "error": exc.to_dict()}


def outcome(document: Mapping[str, Any]) -> Reply:
    """The engine result ``document``; ``failure`` is what went wrong, where not everything worked."""
    document = worded(document, _TOOL_WORDS)
    error = document["outcome"].get("error")
    if error is None:
        return Reply(document)
    return Reply({**document, "failure": error}, failed=True)
