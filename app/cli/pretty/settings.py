"""``--output pretty`` of ``config``, ``policy`` and ``report``."""

from __future__ import annotations

import json

from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, line, plain_table, records, safe_text

_POLICY_SOURCES = {"flag": "--policy", "env": "CLAWPERATOR_POLICY", "file": "settings"}


def paths(data: Data) -> Drawing:
    exists = {"": lambda place: ("exists", GOOD) if place["exists"] else ("missing", FAINT)}
    yield records(data["places"], {"file": "what", "path": "path", **exists})


def settings(data: Data) -> Drawing:
    yield safe_text(data["path"] if data["exists"] else f"{data['path']} (missing)", FAINT)
    yield plain_table(("setting", "value", "source"), map(_setting, data["settings"]))


def _setting(row: Data) -> tuple[object, ...]:
    value = row["value"] if isinstance(row["value"], str) else json.dumps(row["value"])
    source = row["source"] if not row["by"] else f"{row['source']}, {row['by']}"
    return row["key"], value, (source, FAINT if row["source"] == "default" else "")


def checked(data: Data) -> Drawing:
    if data["ok"]:
        yield line(("ok", GOOD), f"  {data['path']}{'' if data['exists'] else '  (missing)'}")
    for problem in data["problems"]:
        place = f"{data['path']}:{problem['line']}" if problem["line"] else data["path"]
        yield line(place, "  ", (problem["message"], BAD))
        if problem["hint"]:
            yield safe_text(f"  {problem['hint']}", UNSURE)


def policy(data: Data) -> Drawing:
    place = data["path"] if data["exists"] else f"{data['path']} (missing: everything except purchase_risk is allowed)"
    source = f"  source: {_POLICY_SOURCES[data['source']]}" if data["source"] in _POLICY_SOURCES else ""
    yield safe_text(place + source, FAINT)
    for profile in data["profiles"]:
        active = profile["name"] == data["activeProfile"]
        yield line(
            (profile["name"], GOOD if active else ""),
            "  active" if active else "",
            ("  read-only" if profile["read_only"] else "", UNSURE),
        )
        rules = ((name, profile[name]) for name in ("capabilities", "packages", "actions"))
        yield plain_table(
            ("", "allowed", "denied"),
            (
                (f"  {name}", "  ".join(rule["allow"]) or "nothing", ("  ".join(rule["deny"]), BAD))
                for name, rule in rules
            ),
        )
    for remark in data["remarks"]:
        yield safe_text(f"note: {remark}", UNSURE)


def policy_checked(data: Data) -> Drawing:
    if "actions" not in data:
        yield from checked(data)
        return
    yield line(_verdict(data), "  by profile ", data["profile"])
    columns: Columns = {
        "step": "id",
        "action": "type",
        "capabilities": lambda action: (" ".join(action["capabilities"]), FAINT),
        "packages": lambda action: " ".join(action["packages"]),
        "": _verdict,
    }
    yield records(data["actions"], columns)
    for refusal in data["refusals"]:
        yield line((refusal["details"]["path"], FAINT), "  ", (refusal["code"], BAD), f"  {refusal['message']}")
    for hint in dict.fromkeys(refusal.get("hint", "") for refusal in data["refusals"]):
        yield safe_text(f"  {hint}", UNSURE)


def _verdict(data: Data) -> tuple[str, str]:
    return ("allowed", GOOD) if data["allowed"] else ("refused", BAD)


def bundle(data: Data) -> Drawing:
    yield line(("written", GOOD), f"  {data['path']}, {data['bytes']:,} bytes; review it before you send it")
    columns: Columns = {
        "contents": "name",
        "bytes": lambda file: f"{file['bytes']:,}",
        "": lambda file: (file["about"], FAINT),
    }
    yield records(data["files"], columns)
    replaced = ", ".join(f"{entry['what']} ({entry['count']})" for entry in data["redacted"])
    yield safe_text(f"Replaced: {replaced or 'nothing'}")
    yield safe_text("Left out:")
    for entry in data["leftOut"]:
        yield safe_text(f"  {entry['what']}: {entry['why']}", FAINT)
