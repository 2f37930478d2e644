"""``--output pretty`` of settings and reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType


def places(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    table = plain_table("what", "path", "")
    for place in data["places"]:
        exists = Text("there", GOOD) if place["exists"] else Text("missing", FAINT)
        table.add_row(place["what"], safe_text(place["path"]), exists)
    yield table


def settings(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(data["path"] if data["exists"] else f"{data['path']} (missing)", FAINT)
    table = plain_table("setting", "value", "source")
    for row in data["settings"]:
        value = row["value"] if isinstance(row["value"], str) else json.dumps(row["value"])
        chosen = row["source"] if not row["by"] else f"{row['source']}, {row['by']}"
        table.add_row(safe_text(row["key"]), safe_text(value), safe_text(chosen, FAINT * (row["source"] == "default")))
    yield table


def checked(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if data["ok"]:
        yield Text.assemble(("ok", GOOD), "  ", safe_text(data["path"]), "" if data["exists"] else "  (missing)")
    for problem in data["problems"]:
        place = f"{data['path']}:{problem['line']}" if problem["line"] else data["path"]
        yield Text.assemble(safe_text(place), "  ", safe_text(problem["message"], BAD))
        if problem["hint"]:
            yield safe_text(f"  {problem['hint']}", UNSURE)


def bundle(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(
        ("written", GOOD), f"  {visible(data['path'])}, {data['bytes']:,} bytes; review it before you send it"
    )
    table = plain_table("contents", "bytes", "")
    for file in data["files"]:
        table.add_row(file["name"], f"{file['bytes']:,}", safe_text(file["about"], FAINT))
    yield table
    replaced = ", ".join(f"{entry['what']} ({entry['count']})" for entry in data["redacted"])
    yield safe_text(f"Replaced: {replaced or 'nothing'}")
    yield Text("Left out:")
    for entry in data["leftOut"]:
        yield safe_text(f"  {entry['what']}: {entry['why']}", FAINT)
