"""``--output pretty`` of ``operator …`` and ``grant-device-permissions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

_GRANTS = (
    ("accessibility", "accessibility service"),
    ("notification", "notifications"),
    ("notificationListener", "notification listener"),
)


def operator_setup(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(("[OK]", GOOD), f" {visible(data['message'])}")
    version = f" {data['apkVersion']}" if data.get("apkVersion") else ""
    yield safe_text(f"  {data['receiverPackage']}{version} on {data['deviceId']}, from {data['apk']}", FAINT)
    yield from _grants(data["permissions"])


def operator_fetch(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(("[OK]", GOOD), f" {visible(data['apk'])}")
    yield safe_text(f"  {data['receiverPackage']} {data['apkVersion']}, SHA-256 {data['sha256']}", FAINT)
    yield safe_text(f"  Next: {data['next']}")


def granted(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(("[OK]", GOOD), f" {visible(data['message'])}")
    yield from _grants(data)


def _grants(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for key, label in _GRANTS:
        grant = data[key]
        if not grant["ok"]:
            words, style = f"failed: {grant.get('error', '')}", BAD
        elif grant.get("skipped"):
            words, style = "not needed on this Android version", FAINT
        elif grant.get("alreadyEnabled"):
            words, style = "already enabled", FAINT
        else:
            words, style = "granted", GOOD
        yield safe_text(f"  {label}: {words}", style)


def operator_status(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    ready = data["ready"]
    yield Text.assemble(("[OK]" if ready else "[WARN]", GOOD if ready else UNSURE), f" {visible(data['message'])}")
    for app in data["installed"]:
        version = f"{app['versionName'] or 'unknown version'} ({app['versionCode'] or '?'})"
        yield safe_text(f"  installed: {app['package']} {version}")
    if not data["installed"]:
        yield safe_text("  installed: none", BAD)
        return
    service = data["accessibility"]
    table = plain_table("what", "state")
    for label, value in (
        ("version compatible", data["compatibility"]["compatible"]),
        ("accessibility service enabled", service["enabled"]),
        ("accessibility service bound", service["bound"]),
        ("notifications", data["notification"]["granted"]),
        ("notification listener", data["notificationListener"]["listed"]),
    ):
        table.add_row(safe_text(label), _yes(value))
    yield table
    if data["uiAutomationHeld"]:
        yield safe_text("Another program holds UiAutomation, which stops accessibility services.", UNSURE)


def _yes(value: bool | None) -> Text:
    return Text("unknown", FAINT) if value is None else Text("yes", GOOD) if value else Text("no", BAD)


def crash_log(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(data["message"], UNSURE if data["crashes"] else GOOD)
    for place, words in data.get("trouble", {}).items():
        yield safe_text(f"  {place} could not be read: {words}", BAD)
    for crash in data["crashes"]:
        pid = f", pid {crash['pid']}" if crash["pid"] else ""
        yield Text("")
        yield safe_text(f"{crash['at']}  {crash['kind']} crash of {crash['process']}{pid} ({crash['source']})", BAD)
        for line in crash["lines"]:
            yield safe_text(f"  {line}", lines=True)
        if crash.get("cutLines"):
            yield safe_text(f"  … {crash['cutLines']} more lines", FAINT)
