"""``--output pretty``: documents as tables and colours. Nothing here is parsed by anybody; every text passes ``visible``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clawperator.app.cli.output import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from clawperator.engine.adb.parse import DeviceEntry

_GOOD, _BAD, _UNSURE, _FAINT = "green", "bold red", "yellow", "dim"
_MARKS = {"pass": ("[OK]", _GOOD), "warn": ("[WARN]", _UNSURE), "fail": ("[FAIL]", _BAD)}
_LONG_VALUE = 160


def document(data: Any) -> Iterator[RenderableType]:
    """Whatever has no drawing of its own: indented JSON."""
    yield _text(json.dumps(data, ensure_ascii=False, indent=2), lines=True)


def error(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((visible(data["code"]), _BAD), "  ", visible(data["message"], lines=True))
    if data.get("hint"):
        yield _text(f"  {data['hint']}", _UNSURE)
    spoken = ("code", "message", "hint", "retryable")
    yield from _facts({key: value for key, value in data.items() if key not in spoken and value not in ({}, [], "")})


def devices(entries: Sequence[DeviceEntry]) -> Iterator[RenderableType]:
    if not entries:
        yield _text("No devices. Connect one, or try `clawperator demo`.", _UNSURE)
        return
    table = _table("serial", "state", "model", "product", "connection")
    for entry in entries:
        state = _text(entry.state, _GOOD if entry.usable else _UNSURE)
        connection = entry.usb or entry.detail
        table.add_row(_text(entry.serial), state, _text(entry.model), _text(entry.product), _text(connection, _FAINT))
    yield table


def packages(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for name in data["packages"]:
        yield _text(name)


def execution(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The verdict, a table of the steps, and long texts (UI trees) below it."""
    envelope = data["envelope"]
    succeeded = envelope.get("status") == "success"
    command = visible(envelope.get("commandId", ""))
    verdict = (visible(envelope.get("status", "")), _GOOD if succeeded else _BAD)
    yield Text.assemble(
        verdict, f"  {command} on {visible(data['deviceId'])}", (f"  {visible(data['executionId'])}", _FAINT)
    )
    for key in ("error", "errorCode", "hint"):
        if envelope.get(key):
            yield _text(f"  {key}: {envelope[key]}", _BAD)
    steps = envelope.get("stepResults") or []
    if steps:
        yield _steps(steps)
    for step in steps:
        text = step.get("data", {}).get("text")
        if isinstance(text, str) and _is_long(text):
            yield _text(f"\n{step.get('id', '')}: {len(text.encode(errors='replace'))} bytes", _FAINT, lines=True)
            yield _text(text, lines=True)


def _steps(steps: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("step", "action", "result", "data")
    for step in steps:
        passed = bool(step.get("success"))
        result = Text("ok", _GOOD) if passed else Text("failed", _BAD)
        table.add_row(
            _text(step.get("id", "")), _text(step.get("actionType", "")), result, _short_data(step.get("data", {}))
        )
    return table


def _short_data(data: Mapping[str, Any]) -> Text:
    lines = [f"{key}: {'(below)' if _is_long(str(value)) else value}" for key, value in data.items()]
    return _text("\n".join(visible(line) for line in lines), lines=True)


def _is_long(text: str) -> bool:
    return len(text) > _LONG_VALUE or "\n" in text


def validated(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    payload = data["execution"]
    yield Text.assemble(("valid", _GOOD), f"  {visible(payload['commandId'])}, {len(payload['actions'])} actions")
    yield _actions(payload["actions"])
    yield from _warnings(data)


def plan(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    steps = data["plan"]
    yield Text.assemble(("dry run", _GOOD), f"  {visible(steps['commandId'])} within {steps['timeoutMs']} ms")
    yield _actions(steps["actions"])
    yield from _warnings(data)


def _actions(actions: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("step", "action", "params")
    for action in actions:
        params = json.dumps(action.get("params", {}), ensure_ascii=False)
        table.add_row(_text(action["id"]), _text(action["type"]), _text(params))
    return table


def _warnings(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for warning in data.get("warnings", ()):
        yield _text(f"warning: {warning.get('message', '')}", _UNSURE)


def version(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield _text(f"clawperator {data['engineVersion']}, Operator contract {data['cliVersion']}")


def compatibility(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    verdict = ("compatible", _GOOD) if data["compatible"] else ("not compatible", _BAD)
    apk = data.get("apkVersion", "unknown")
    yield Text.assemble(
        verdict, f"  host contract {data['cliVersion']}, {visible(data['receiverPackage'])} {visible(apk)}"
    )
    if data.get("error"):
        yield from error(data["error"])
    for line in data.get("remediation", ()):
        yield _text(f"  - {line}")


def locks(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not data["locks"]:
        yield _text("No device is taken.", _GOOD)
        return
    table = _table("device", "state", "pid", "command", "source")
    for lock in data["locks"]:
        state = _text(lock["state"], _GOOD if lock["state"] == "free" else _UNSURE)
        table.add_row(
            _text(lock["deviceId"]), state, *(_text(lock.get(key, "")) for key in ("pid", "commandId", "source"))
        )
    yield table


def event(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """One line of ``watch``."""
    import time

    clock = time.strftime("%H:%M:%S", time.localtime(data["at"]))
    told = {key: value for key, value in data.items() if key not in ("at", "event", "deviceId", "text", "raw")}
    words = "  ".join(f"{key}={value}" for key, value in told.items())
    yield Text.assemble((clock, _FAINT), "  ", (visible(data["event"]), _GOOD), "  ", visible(words))


def doctor(data: tuple[Mapping[str, Any], Iterable[str]]) -> Iterator[RenderableType]:
    """The report in the layout of the doctor contract §2: critical checks, advisory findings, verdict, next actions."""
    report, critical_ids = data
    checks = report["checks"]
    critical = [check for check in checks if check["id"] in critical_ids]
    advisory = [check for check in checks if check["id"] not in critical_ids]
    findings = [check for check in advisory if check["status"] != "pass"]
    yield Text("Clawperator doctor", "bold")
    yield _text(f"Device: {report.get('deviceId', '(auto-detect)')}")
    yield _text(f"Receiver package: {report['receiverPackage']}")
    for title, listed in (("Critical checks", critical), ("Advisory checks", findings)):
        if listed:
            yield Text(f"\n{title}", "bold")
            yield Group(*(line for check in listed for line in _check(check)))
    if passed := len(advisory) - len(findings):
        yield _text(f"\nAdditional passed checks: {passed}", lines=True)
    yield Text("")
    yield _verdict(report, checks)
    if report.get("nextActions"):
        yield Text("\nNext actions:", "bold")
        for action in report["nextActions"]:
            yield _text(f"  - {action}")


def _verdict(report: Mapping[str, Any], checks: Sequence[Mapping[str, Any]]) -> Text:
    if not report["criticalOk"]:
        return Text("[FAIL] Something critical is missing.", _BAD)
    if any(check["status"] != "pass" for check in checks):
        return Text("[WARN] Usable, with remarks.", _UNSURE)
    return Text("[OK] Everything is ready.", _GOOD)


def _check(check: Mapping[str, Any]) -> Iterator[RenderableType]:
    mark, style = _MARKS.get(check["status"], ("[?]", _UNSURE))
    yield Text.assemble("  ", (mark, style), " ", visible(check["summary"]))
    if check["status"] == "pass":
        return
    lines = [check["detail"]] if check.get("detail") else []
    if fix := check.get("fix"):
        lines += [fix["title"], *(f"  {step['value']}" for step in fix["steps"])]
    if guidance := check.get("deviceGuidance"):
        lines += [f"On device, open {guidance['screen']}:", *(f"  {step}" for step in guidance["steps"])]
    for line in lines:
        yield Padding(_text(line, lines=True), (0, 0, 0, 6), expand=False)


def _facts(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for key, value in data.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield _text(f"  {key}: {shown}", _FAINT)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _text(value: object, style: str = "", *, lines: bool = False) -> Text:
    return Text(visible(value, lines=lines), style)
