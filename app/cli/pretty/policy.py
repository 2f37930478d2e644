"""``policy`` in ``--output pretty``: what is allowed, and what would be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.pretty.config import checked
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

_SOURCES = {"flag": "--policy", "env": "CLAWPERATOR_POLICY", "file": "settings"}


def policy(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    place = data["path"] if data["exists"] else f"{data['path']} (missing: everything except purchase_risk is allowed)"
    chosen = f"  source: {_SOURCES[data['source']]}" if data["source"] in _SOURCES else ""
    yield safe_text(place + chosen, FAINT)
    for profile in data["profiles"]:
        active = profile["name"] == data["activeProfile"]
        yield Text.assemble(
            safe_text(profile["name"], GOOD if active else ""),
            "  active" if active else "",
            safe_text("  read-only" if profile["read_only"] else "", UNSURE),
        )
        table = plain_table("", "allowed", "denied")
        for name in ("capabilities", "packages", "actions"):
            rules = profile[name]
            allowed, denied = ("  ".join(rules[key]) for key in ("allow", "deny"))
            table.add_row(f"  {name}", safe_text(allowed or "nothing"), safe_text(denied, BAD))
        yield table
    for remark in data["remarks"]:
        yield safe_text(f"note: {remark}", UNSURE)


def policy_checked(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if "actions" not in data:
        yield from checked(data)
        return
    verdict = Text("allowed", GOOD) if data["allowed"] else Text("refused", BAD)
    yield Text.assemble(verdict, "  by profile ", safe_text(data["profile"]))
    table = plain_table("step", "action", "needs", "of", "")
    for action in data["actions"]:
        table.add_row(
            safe_text(action["id"]),
            safe_text(action["type"]),
            safe_text(" ".join(action["capabilities"]), FAINT),
            safe_text(" ".join(action["packages"])),
            Text("allowed", GOOD) if action["allowed"] else Text("refused", BAD),
        )
    yield table
    for refusal in data["refusals"]:
        yield Text.assemble(
            safe_text(refusal["details"]["path"], FAINT),
            "  ",
            safe_text(refusal["code"], BAD),
            "  ",
            safe_text(refusal["message"]),
        )
    for hint in dict.fromkeys(refusal.get("hint", "") for refusal in data["refusals"]):
        yield safe_text(f"  {hint}", UNSURE)
