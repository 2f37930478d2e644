"""Results of tools: one JSON document, as structured content and as text, of bounded size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_types import CallToolResult, ContentBlock, TextContent

from clawperator.app.hints import MATCH_COMMAND, commands, worded
from clawperator.app.serve.answers import encode
from clawperator.engine.contracts.limits import RENDERED_FORMATS
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.brief import brief
from clawperator.engine.follow.trees import viewed
from clawperator.engine.hierarchy.tree import parse

if TYPE_CHECKING:
    from clawperator.engine.skills.artifact_run import ArtifactReport

DEFAULT_BYTES = 8_192
"""Default size of a tree view: about 2,500 tokens."""
DEFAULT_VIEW = "compact"
_ERROR_TEXT = 4_096
"""Maximum size of each text in an error; the end is kept, which has the last output of a script."""

_TOOL_WORDS = {
    MATCH_COMMAND: "call `match` with `selector` as in details.selector.",
    "match and inspect ui --view interactive show": "`match` and `snapshot` show",
    "inspect ui --view interactive": "`snapshot`",
    "`clawperator schema execution` prints": "The resource clawperator://schema/execution has",
    "Run `clawperator help input`.": "The schema of `act` lists the arguments.",
    "Check `clawperator packages list`.": "Correct the application id, or install the app.",
    "Run doctor (": "Call `doctor` (",
    **commands(
        {
            "apps": "`devices` with `apps`",
            "devices": "`devices`",
            "doctor": "`doctor`",
            "suggest": "`suggest`",
            "suggest --ref <ref>": "`suggest`",
            "device info": "`read` device_info",
        }
    ),
    ", pass --registry <file>, or use --registry builtin for the built-in skills": " on the server, or start it with --registry <file>",
    ", or pass --overwrite to replace the file": "",
    "Pass --allow-unbind": "Start the server with --allow-unbind",
    "Pass --compressed": "Start the server with --compressed",
    "Pass --receiver-package": "Start the server with --receiver-package",
    "Pass --operator-package": "Start the server with --operator-package",
    "--backend stock": "`backend`: stock",
    "--device-id": "`deviceId`",
    "--devices": "`devices`",
    "--text": "`text`",
    "--wait": "`waitMs`",
    "--vars": "`variables`",
    "with --artifact": "with the argument `artifact` of `skill_run`",
    "--artifact": "`artifact`",
    "Run `clawperator skills list`.": "List the skills with `skills_search`.",
    "Run `clawperator skills get <id>`.": "`skills_search` with `skillId` lists the artifacts.",
    "Run `clawperator skills update`.": "This skill is incomplete on the server. Use `skills_search` to list the others.",
    "Run `clawperator skills install`, or check CLAWPERATOR_SKILLS_REGISTRY.": "This server's registry cannot be read.",
    "Run `clawperator skills validate` for the skill, or reinstall the skills.": "A file on the server cannot be read.",
    "Pass a JSON object, quoted for the shell.": "Send `variables` as an object of strings, numbers and booleans.",
}
"""Words of command-line hints, and their equivalents for MCP clients."""


class Reply(NamedTuple):
    """The document of a result, whether the call failed, and further content."""

    document: Mapping[str, Any]
    failed: bool = False
    more: Sequence[ContentBlock] = ()


def result_of(reply: Reply) -> CallToolResult:
    """Return the result of a call. Lone surrogates, which devices can send, are replaced: UTF-8 cannot encode them."""
    text = json.dumps(reply.document, ensure_ascii=False)
    sound = encodable(text)
    document: Any = reply.document if sound == text else json.loads(sound)
    text = encode(document).decode()
    content: list[ContentBlock] = [TextContent(text=text), *reply.more]
    return CallToolResult(content=content, structured_content=document, is_error=reply.failed)


def encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def tool_words(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``document`` with its hints in the words of the tools."""
    answer: Mapping[str, Any] = worded(document, _TOOL_WORDS)
    return answer


def refusal(error: EngineError) -> Reply:
    """Return the reply of an error."""
    return Reply(worded(bounded(error.to_answer(), _ERROR_TEXT), _TOOL_WORDS), failed=True)


def bounded(value: Any, limit: int) -> Any:
    """Return ``value`` with every text cut to its last ``limit`` bytes."""
    if isinstance(value, str):
        return tail(value, limit)
    if isinstance(value, Mapping):
        return {key: bounded(inner, limit) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(inner, limit) for inner in value]
    return value


def tail(text: str, limit: int) -> str:
    """Return the end of ``text``, at most ``limit`` bytes of UTF-8."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    return f"[{len(raw) - limit} bytes omitted] " + raw[-limit:].decode("utf-8", "ignore")


async def played(report: ArtifactReport, arguments: Mapping[str, Any]) -> Reply:
    """Return the reply of a compiled artifact's executions, with trees in the view that ``arguments`` select."""
    document = worded(report.to_dict(), _TOOL_WORDS)
    view, most = arguments.get("view", DEFAULT_VIEW), int(arguments.get("maxBytes", DEFAULT_BYTES))
    for execution in document["executions"]:
        await asyncio.to_thread(lean, execution["envelope"], view, most)
    return Reply(brief(document) if arguments.get("brief", True) else document, failed=report.failed)


def lean(envelope: dict[str, Any], view: str, max_bytes: int) -> None:
    """Replace each dump by a view, as ``inspect ui --view`` does: a dump can have 256 KB."""
    for step in envelope.get("stepResults", ()):
        data = step["data"]
        if step["actionType"] == "snapshot_ui" and isinstance(data.get("text"), str):
            if data.get("actual_format") in RENDERED_FORMATS:  # the plan selected the format
                raw = data["text"].encode("utf-8", "surrogatepass")
                if len(raw) > max_bytes:
                    data |= {"text": raw[:max_bytes].decode("utf-8", "ignore"), "truncated": "true"}
                continue
            xml = data.pop("text")
            try:
                data["view"] = viewed(xml, parse(xml, recover=True), view, max_bytes, data)
            except EngineError as exc:  # an unreadable tree does not fail the execution
                data["view"] = {"view": view, "error": exc.to_dict()}


def outcome(document: Mapping[str, Any], arguments: Mapping[str, Any]) -> Reply:
    """Return the reply of an execution's result. That of a failed one is not ``ok``; ``failure`` is the error of its outcome."""
    document = worded(document, _TOOL_WORDS)
    error = document["outcome"].get("error")
    if arguments.get("brief", True):
        document = {**brief(document), "deviceId": document["deviceId"]}
        document["outcome"].pop("error", None)
    if error is None:
        return Reply(document)
    return Reply({**document, "ok": False, "failure": error}, failed=True)
