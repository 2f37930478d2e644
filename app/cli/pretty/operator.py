"""``--output pretty`` of ``operator …``, ``grant-device-permissions`` and ``version``."""

from __future__ import annotations

from rich.text import Text

from clawperator.app.cli.pretty.executions import error
from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, OK, UNSURE, WARN
from clawperator.app.cli.pretty.toolbox import Data, Drawing, line, plain_table, safe_text

_GRANTS = (
    ("accessibility", "accessibility service"),
    ("notification", "notifications"),
    ("notificationListener", "notification listener"),
)


def operator_setup(data: Data) -> Drawing:
    yield line(OK, f" {data['message']}")
    version = f" {data['apkVersion']}" if data.get("apkVersion") else ""
    yield safe_text(f"  {data['receiverPackage']}{version} on {data['deviceId']}, from {data['apk']}", FAINT)
    yield from _grants(data["permissions"])


def operator_fetch(data: Data) -> Drawing:
    yield line(OK, f" {data['apk']}")
    yield safe_text(f"  {data['receiverPackage']} {data['apkVersion']}, SHA-256 {data['sha256']}", FAINT)
    yield safe_text(f"  Next: {data['next']}")


def granted(data: Data) -> Drawing:
    yield line(OK, f" {data['message']}")
    yield from _grants(data)


def _grants(data: Data) -> Drawing:
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


def operator_status(data: Data) -> Drawing:
    yield line(OK if data["ready"] else WARN, f" {data['message']}")
    for app in data["installed"]:
        version = f"{app['versionName'] or 'unknown version'} ({app['versionCode'] or '?'})"
        yield safe_text(f"  installed: {app['package']} {version}")
    if not data["installed"]:
        yield safe_text("  installed: none", BAD)
        return
    service = data["accessibility"]
    yield plain_table(
        ("check", "state"),
        (
            ("version compatible", _yes(data["compatibility"]["compatible"])),
            ("accessibility service enabled", _yes(service["enabled"])),
            ("accessibility service bound", _yes(service["bound"])),
            ("notifications", _yes(data["notification"]["granted"])),
            ("notification listener", _yes(data["notificationListener"]["listed"])),
        ),
    )
    if data["uiAutomationHeld"]:
        yield safe_text("Another program holds UiAutomation, which stops accessibility services.", UNSURE)


def _yes(value: bool | None) -> tuple[str, str]:
    return ("unknown", FAINT) if value is None else ("yes", GOOD) if value else ("no", BAD)


def crash_log(data: Data) -> Drawing:
    yield safe_text(data["message"], UNSURE if data["crashes"] else GOOD)
    for place, reason in data.get("trouble", {}).items():
        yield safe_text(f"  {place} could not be read: {reason}", BAD)
    for crash in data["crashes"]:
        pid = f", pid {crash['pid']}" if crash["pid"] else ""
        yield Text("")
        yield safe_text(f"{crash['at']}  {crash['kind']} crash of {crash['process']}{pid} ({crash['source']})", BAD)
        for text in crash["lines"]:
            yield safe_text(f"  {text}", lines=True)
        if crash.get("cutLines"):
            yield safe_text(f"  … {crash['cutLines']} more lines", FAINT)


def version(data: Data) -> Drawing:
    generations = data["operatorGenerations"]
    yield safe_text(
        f"clawperator {data['cliVersion']}, for Operator {', '.join(generations[:-1])} and {generations[-1]}"
    )
    if "actions" not in data:
        return
    styles = {"yes": GOOD, "no": BAD}
    headers = ("action", "command", *(f"Operator {generation}" for generation in generations))
    support = ([row["operator"][generation] for generation in generations] for row in data["actions"])
    rows = (
        (row["action"], row["command"], *((answer, styles.get(answer, UNSURE)) for answer in answers))
        for row, answers in zip(data["actions"], support, strict=True)
    )
    yield plain_table(headers, rows)


def compatibility(data: Data) -> Drawing:
    verdict = ("compatible", GOOD) if data["compatible"] else ("not compatible", BAD)
    app = f"{data['receiverPackage']} {data.get('apkVersion', 'unknown')}"
    yield line(verdict, f"  clawperator {data['cliVersion']}, {app}")
    if data.get("error"):
        yield from error(data["error"])
    for step in data.get("remediation", ()):
        yield safe_text(f"  - {step}")
