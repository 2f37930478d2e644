"""``record`` in ``--output pretty``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from clawperator.app.cli.pretty.drawing import FAINT, GOOD, UNSURE, plain_table, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType


def recording_pulled(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(f"{data['sessionId']}: {data['bytes']} bytes in {data['localPath']}", GOOD)
    yield safe_text(f"Next: clawperator record draft --input {shlex.quote(data['localPath'])}", FAINT)


def recording_parsed(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(f"{data['stepCount']} steps in {data['outputFile']}", GOOD)
    yield from _warnings(data)


def recording_drafted(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(f"{data['recipeId']}: {data['stepCount']} steps in {data['outputFile']}", GOOD)
    for each in data["inputs"]:
        yield safe_text(f"  input {each['name']}: {each['why']}")
    yield from _warnings(data)
    yield safe_text("Review the draft, then run: clawperator skills lint --file <file>", FAINT)


def replayed(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    table = plain_table("", "step", "what", "result", "took")
    for step in data["steps"]:
        style = GOOD if step["status"] == "done" else UNSURE
        table.add_row(
            safe_text(step["number"]),
            safe_text(step["id"]),
            safe_text(step["what"], FAINT),
            safe_text(step["status"], style),
            safe_text(f"{step['durationMs']} ms"),
        )
    yield table


def _warnings(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for warning in data.get("warnings", ()):
        yield safe_text(f"  {warning}", UNSURE)
