"""Snippets to copy: a matcher, an action or an execution as JSON, a command line or a Python program. Pure.

They are pasted into terminals and files, so invisible characters (escapes, bidirectional overrides, non-breaking spaces) are
written as escapes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pprint import pformat
from typing import Any

from clawperator.engine.executions.steps import budget_ms

_COMMANDS = {
    "click": "action click",
    "read_text": "action read",
    "enter_text": "action type",
    "wait_for_node": "action wait",
    "scroll": "action scroll",
    "scroll_and_click": "action scroll-and-click",
    "press_key": "action press-key",
    "open_app": "action open-app",
    "open_uri": "action open-uri",
    "snapshot_ui": "observe snapshot",
    "take_screenshot": "observe screenshot",
}
"""Action types with their own command."""
_FLAGS = {
    "matcher": "--selector",
    "target": "--selector",
    "container": "--container",
    "text": "--text",
    "clickType": "--click-type",
    "direction": "--direction",
    "key": "--key",
    "applicationId": "--app",
    "uri": "--uri",
    "path": "--path",
}
"""Flags for parameters of those commands. Matchers are passed as JSON."""
_SWITCHES: dict[tuple[str, bool], tuple[str, ...]] = {("submit", False): (), ("clickAfter", True): ()}
"""Flags for boolean parameters, if the command line can express the value: ``type --submit`` presses Enter, ``submit`` clicks."""


def compact(value: object) -> str:
    """Return JSON in one line, without blanks."""
    return _visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def pretty(value: object) -> str:
    """Return JSON indented by two blanks."""
    return _visible(json.dumps(value, ensure_ascii=False, indent=2))


def _visible(document: str) -> str:
    """Return JSON text with invisible characters as escapes; line feeds are layout."""
    if document.isascii() and document.isprintable():
        return document
    return "".join(each if each.isprintable() or each == "\n" else _escape(each) for each in document)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


def command_line(action: Mapping[str, Any], device_id: str = "", *, timeout_ms: int | None = None) -> str | None:
    """Return the command that does what ``action`` does, quoted for a POSIX shell; ``None`` if there is none.

    ``timeout_ms`` is the time limit of the execution; it is omitted if it is the command's default.
    """
    command = _COMMANDS.get(str(action.get("type")))
    params = action.get("params", {})
    if command is None or not all(_is_expressible(name, value) for name, value in params.items()):
        return None
    words = [word for name, value in params.items() for word in _flag(name, value)]
    if timeout_ms is not None and timeout_ms != budget_ms([action]):
        words += ["--timeout-ms", str(timeout_ms)]
    return _line(command, device_id, *words)


def execution_line(payload: Mapping[str, Any], device_id: str = "") -> str:
    """Return the shortest command line that runs ``payload``: the command of a single action, else ``execute``.

    Commands of single actions generate their own command id.
    """
    line = _of_single_action(payload, device_id)
    return line or _line("execute", device_id, "--execution", compact(payload))


def _of_single_action(payload: Mapping[str, Any], device_id: str) -> str | None:
    """Return ``None`` if the command cannot express all of ``payload``; the mode of a compiled execution has no flag."""
    actions, budget = payload.get("actions"), payload.get("timeoutMs")
    if payload.get("mode", "direct") != "direct" or type(budget) is not int:
        return None
    if not isinstance(actions, list) or len(actions) != 1 or not isinstance(actions[0], Mapping):
        return None
    if not isinstance(actions[0].get("params", {}), Mapping):
        return None
    return command_line(actions[0], device_id, timeout_ms=budget)


def file_line(path: str, device_id: str = "") -> str:
    """Return the command line that runs the payload in file ``path``."""
    plain = path if path.lstrip()[:1] not in ("-", "{") else f"./{path}"  # else a flag, or JSON text
    return _line("execute", device_id, "--execution", plain)


def _line(command: str, device_id: str, *words: str) -> str:
    device = _option("--device-id", device_id) if device_id else ()
    return f"clawperator {command} {shlex.join([*device, *words])}".rstrip()


def _option(flag: str, value: str) -> tuple[str, ...]:
    """Return ``flag`` with ``value``; a value with a leading dash must not look like a flag."""
    return (f"{flag}={value}",) if value.startswith("-") else (flag, value)


def _is_expressible(name: str, value: object) -> bool:
    """Return whether a flag can express the parameter; text with invisible characters needs JSON."""
    if isinstance(value, bool):
        return (name, value) in _SWITCHES
    if name == "text" and value == "-":  # which means stdin on the command line
        return False
    return name in _FLAGS and (isinstance(value, Mapping) or (isinstance(value, str) and value.isprintable()))


def _flag(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, bool):
        return _SWITCHES[name, value]
    return _option(_FLAGS[name], value if isinstance(value, str) else compact(value))


_HEAD = """\
import asyncio
import uuid

from clawperator.engine import Engine

PAYLOAD = {payload}


"""
_PROGRAM = """\
async def main() -> None:
    async with Engine() as engine:
        result = await engine.execute(PAYLOAD | {{"commandId": str(uuid.uuid4())}}{device})
    print(result.envelope)


if __name__ == "__main__":
    asyncio.run(main())
"""
_TEST = """\
def test_{name}() -> None:
    async def run() -> None:
        async with Engine() as engine:
            result = await engine.execute(PAYLOAD | {{"commandId": str(uuid.uuid4())}}{device})
        assert result.outcome.status == "succeeded", result.envelope

    asyncio.run(run())
"""


def python(payload: Mapping[str, Any], device_id: str = "") -> str:
    """Return a program that runs ``payload`` through the public API, each time with a command id of its own, and prints the envelope."""
    return _with_payload(_PROGRAM, payload, device_id)


def pytest(payload: Mapping[str, Any], device_id: str = "") -> str:
    """Return a test module that runs ``payload`` and asserts that every step succeeded; it needs pytest alone."""
    first = next((str(action.get("id")) for action in payload.get("actions", ())), "")
    return _with_payload(_TEST, payload, device_id, re.sub(r"[^A-Za-z0-9_]", "_", first) or "execution")


def _with_payload(body: str, payload: Mapping[str, Any], device_id: str, name: str = "") -> str:
    device = f", device_id={device_id!r}" if device_id else ""
    given = {name: value for name, value in payload.items() if name != "commandId"}  # each run has its own
    written = pformat(given, width=100, sort_dicts=False)
    return _HEAD.format(payload=written) + body.format(device=device, name=name)
