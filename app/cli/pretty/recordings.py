"""``--output pretty`` of ``record``."""

from __future__ import annotations

import shlex

from clawperator.app.cli.pretty.styles import FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, records, safe_text


def recording_pulled(data: Data) -> Drawing:
    yield safe_text(f"{data['sessionId']}: {data['bytes']} bytes in {data['localPath']}", GOOD)
    yield safe_text(f"Next: clawperator record draft --input {shlex.quote(data['localPath'])}", FAINT)


def recording_parsed(data: Data) -> Drawing:
    yield safe_text(f"{data['stepCount']} steps in {data['outputFile']}", GOOD)
    yield from _warnings(data)


def recording_drafted(data: Data) -> Drawing:
    yield safe_text(f"{data['recipeId']}: {data['stepCount']} steps in {data['outputFile']}", GOOD)
    for each in data["inputs"]:
        yield safe_text(f"  input {each['name']}: {each['why']}")
    yield from _warnings(data)
    yield safe_text("Review the draft, then run: clawperator skills lint --file <file>", FAINT)


def replayed(data: Data) -> Drawing:
    columns: Columns = {
        "": "number",
        "step": "id",
        "action": lambda step: (step["what"], FAINT),
        "result": lambda step: (step["status"], GOOD if step["status"] == "done" else UNSURE),
        "duration": lambda step: f"{step['durationMs']} ms",
    }
    yield records(data["steps"], columns)
    for omission in data.get("omitted", ()):
        yield safe_text(f"  omitted event {omission['seq']}: {omission['reason']}", UNSURE)


def _warnings(data: Data) -> Drawing:
    for warning in data.get("warnings", ()):
        yield safe_text(f"  {warning}", UNSURE)
