"""A verb stands once: what one row of the catalogue adds to the contract and to all faces."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import patience

ROOT = Path(__file__).parents[3]
ADDED = """
import json, sys
from clawperator.engine.verbs import Param, Verb, catalogue

catalogue.VERBS["blink"] = Verb(
    "blink", "Blink the screen.", Param("blinks", "int", "How often it blinks.", 1, 9, need=True), catalogue.APP,
    command="blink", also=("shimmer",), since="0.12.5", does=sys.argv[1], needs=("navigate",),
)

from fastapi import FastAPI
from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.completions import completions
from clawperator.app.cli.help import help_text
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.app.cli.parsing.parser import read
from clawperator.app.http.openapi import document
from clawperator.app.http.routes import ROUTERS
from clawperator.app.mcp.tools import TOOLS
from clawperator.app.mcp.tools.listing import tool_list
from clawperator.app.serve.verbs import checked_arguments, made
from clawperator.engine.config.policy import capabilities_of
from clawperator.engine.contracts.generation import support_table
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.validate import validate
from clawperator.engine.json_schema import json_schema

from clawperator.widgets.text.action_fields import action_fields

sys.path.insert(0, sys.argv[2])
import docs.generate

words, rest, _ = find_command(["shimmer", "--blinks", "3", "--app", "a.b"])
command = load(words)
own = command.payload(read(build_parser(command), words, rest))
validate(own)
app = FastAPI()
for router in ROUTERS:
    app.include_router(router)
operation = document(app)["paths"]["/verbs/{verb}"]["post"]
sent = made("blink", checked_arguments({"blinks": 3, "applicationId": "a.b"}), source="test")
validate(sent)
refused = []
for wrong in ({"blinks": 10}, {"blink": 1}, {}):
    try:
        validate(made("blink", checked_arguments(wrong), source="test"))
    except EngineError as error:
        refused.append(error.message)
print(json.dumps({
    "schema": json_schema("blink")["properties"]["params"],
    "plan": json_schema("execution")["$defs"]["blink"]["properties"]["type"],
    "enum": operation["parameters"][0]["schema"]["enum"],
    "signature": "`blink(blinks, applicationId?)`" in operation["description"],
    "argument": operation["requestBody"]["content"]["application/json"]["schema"]["properties"]["blinks"],
    "tools": {tool.name: tool.input_schema["properties"].get("blinks") for tool in tool_list()
              if "blink" in tool.input_schema["properties"].get("type", {}).get("enum", ())},
    "understood": {name: tool.validate({"type": "blink", "blinks": "3"}) for name, tool in TOOLS.items()
                   if "blinks" in tool.parameters},
    "action": sent["actions"][0],
    "commanded": own["actions"][0],
    "help": help_text("blink"),
    "listed": "blink" in help_text(""),
    "completed": [name for name, _ in completions(["blin"])] + [name for name, _ in completions(["blink", "--b"])],
    "docs": [any("blink" in line for line in part()) for part in (
        docs.generate.commands, docs.generate.actions, docs.generate.capabilities, docs.generate.generations)],
    "form": [field.name for field in action_fields("blink")],
    "refused": refused,
    "needs": sorted(capabilities_of("blink", {})),
    "reads": "blink" in OBSERVING,
    "since": next(row.to_dict() for row in support_table() if row.action == "blink")["since"],
}))
"""


@pytest.mark.parametrize(
    ("does", "tool"),
    [
        ("acts", "act"),
        pytest.param("reads", "read", marks=pytest.mark.ci),
        pytest.param("manages", "manage", marks=pytest.mark.ci),
    ],
)
def test_one_row_is_on_every_face(does: str, tool: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ADDED, does, str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(60),
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    number = {"type": "integer", "minimum": 1, "maximum": 9, "description": "How often it blinks."}
    assert found["schema"]["properties"]["blinks"] == number
    assert found["schema"]["required"] == ["blinks"]
    assert found["plan"]["const"] == "blink"
    assert "blink" in found["enum"]
    assert found["signature"]
    assert found["argument"] == number
    assert found["tools"] == {tool: {"type": "integer"}}, "the list describes what a name does not say"
    assert found["understood"] == {tool: {"type": "blink", "blinks": 3}}
    assert found["action"] == {"id": "blink", "type": "blink", "params": {"blinks": 3, "applicationId": "a.b"}}
    assert found["commanded"]["params"] == {"blinks": 3, "applicationId": "a.b"}, "by another spelling of the command"
    assert "Blink the screen (also: shimmer)." in found["help"]
    assert re.search(r"--blinks <n> +how often it blinks, 1 to 9\n", found["help"])
    assert "It requires Operator 0.12.5 or newer." in found["help"]
    assert found["listed"]
    assert found["completed"] == ["blink", "--blinks", "--brief", "--backend"]
    assert found["docs"] == [True] * 4
    assert found["form"] == ["blinks", "applicationId", "id"]
    assert found["refused"] == [
        "'blinks' must be less than or equal to 9",
        "There is no argument 'blink'",
        "blink needs 'blinks'",
    ]
    assert found["needs"] == ["navigate"]
    assert found["reads"] is (does == "reads")
    assert found["since"] == "0.12.5"
