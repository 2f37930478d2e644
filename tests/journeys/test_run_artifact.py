"""Recipes from their text to their report: compiled, played through the real adb, confirmed, redacted, and written down."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, ErrorCode
from clawperator.engine.history.store import History
from clawperator.engine.skills.artifact import compile_for
from clawperator.engine.skills.artifact_run import ArtifactReport, run_artifact
from clawperator.engine.skills.registry import Registry, load_registry
from tests.engine.skills.made import made_registry
from tests.support import CLI, Ran, ran

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

SKILL = "com.android.settings.look"
FRONT = """---
recipe_id: com.android.settings.look
recipe_version: 1.2.0
recipe_type: {kind}
application_id: com.android.settings
summary: Look at the settings.
frameworks: [views]
session_policy: fresh
app_build: {{version_name: "14", version_code: 34}}
tested_on: {{android_api: 34}}
capabilities: [{capabilities}]
inputs: [{{name: expected, type: string, required: false, default: "Settings"}}]
outputs:
  - {{name: heading, type: string, redaction: {redaction}, from: {{step: title}}}}
  - {{name: letters, type: integer, from: {{step: title, pattern: "([0-9]+)"}}}}
---
"""
HEADING = '{resource_id: "com.android.settings:id/homepage_title", annotation: STRUCTURAL}'
TITLE = f"""## Step: the heading
```yaml
id: title
type: read_text
selector: {HEADING}
```
"""
LATER = """## Step: a dialog that only some have
```yaml
id: later
type: click
optional: true
selector: {text_equals: "Remind me later", annotation: STRUCTURAL}
```
"""
CONFIRMED = f"""## Step: press, and look whether it worked
```yaml
id: press
type: click
effect: toggle
selector: {{text_equals: "Storage", annotation: STRUCTURAL}}
confirm:
  type: read_text
  selector: {HEADING}
  expect: {{equals: "${{inputs.expected}}"}}
```
"""
CHOSEN = """## Step: one of two names of it, whichever is there
```yaml
id: open_display
type: click
selector: {{any_of: [{{text_equals: "Anzeige"}}, {{text_equals: "Display"}}], {more}}}
{step}```
"""
FONT = """## Step: what is there now
```yaml
id: font
type: wait_for_node
selector: {text_equals: "Font size", annotation: STRUCTURAL}
```
"""
BOUGHT = CONFIRMED.replace("toggle", "purchase")


def skill(tmp_path: Path, *steps: str, kind: str = "flow", more: str = "", redaction: str = "none") -> Registry:
    made = made_registry(tmp_path / "root", {SKILL: {"run.sh": "#!/bin/sh\n"}})
    folder = tmp_path / "root" / "skills" / SKILL
    (folder / "artifacts").mkdir()
    front = FRONT.format(kind=kind, capabilities=f"observe, navigate{more}", redaction=redaction)
    (folder / "artifacts" / "look.recipe.md").write_text(front + "".join(steps))
    registry = json.loads(Path(made.path).read_text())
    registry["skills"][0]["artifacts"] = [f"skills/{SKILL}/artifacts/look.recipe.md"]
    Path(made.path).write_text(json.dumps(registry))
    return load_registry(made.path)


async def played(engine: Engine, registry: Registry, variables: Mapping[str, Any] | None = None) -> ArtifactReport:
    compiled = compile_for(engine.guard, registry, SKILL, "look", json.dumps(variables or {}))
    return await run_artifact(engine, compiled)


async def test_an_optional_step_that_finds_nothing_is_variance(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    report = await played(bench.engine, skill(tmp_path, LATER, TITLE, more=", click"))
    assert report.errors == []
    answer = report.to_dict()
    assert (answer["ok"], answer["planned"], len(answer["executions"])) == (True, 3, 3)
    ids = [execution["envelope"]["commandId"] for execution in answer["executions"]]
    assert ids == [ids[0], f"{ids[0]}-p2", f"{ids[0]}-p3"]
    (entry,) = answer["variance"]
    assert entry["stepId"] == "later"
    assert entry["expected"] == {"actionType": "click", "params": {"matcher": {"textEquals": "Remind me later"}}}
    assert entry["found"]["errorCode"] == "NODE_NOT_FOUND"
    assert answer["outputs"] == {"heading": "Settings"}
    assert [warning["path"] for warning in report.warnings if warning["code"] == "OUTPUT_PATTERN"] == [
        "outputs.letters"
    ]
    closed = answer["executions"][0]["envelope"]["stepResults"][0]
    assert (closed["actionType"], closed["success"]) == ("close_app", True)


async def test_a_confirmation_that_is_met(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    registry = skill(tmp_path, TITLE, CONFIRMED, kind="action", more=", click, toggle", redaction="mask")
    report = await played(bench.engine, registry)
    assert report.errors == []
    assert report.outputs == {"heading": "********"}


async def test_a_confirmation_that_is_not_met(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    registry = skill(tmp_path, CONFIRMED, LATER, TITLE, kind="action", more=", click, toggle")
    report = await played(bench.engine, registry, {"expected": "Nobody's heading"})
    (error,) = report.errors
    assert "fallback_instructions_path" not in report.to_dict()
    named = replace(report, compiled=replace(report.compiled, fallback={"fallback_instructions_path": "/x.md"}))
    assert named.to_dict()["fallback_instructions_path"] == "/x.md"
    assert (error["code"], error["details"]["stepId"]) == ("VERIFY_FAILED", "press")
    assert error["details"]["expected"] == {"equals": "Nobody's heading"}
    assert error["details"]["actual"] == "********"
    assert len(report.results) == 1  # nothing acts on what it does not know
    assert report.results[0].envelope["status"] == "success"


async def test_the_policy_refuses_before_anything_is_sent(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    registry = skill(tmp_path, BOUGHT, TITLE, kind="action", more=", click, purchase_risk")
    with pytest.raises(EngineError) as caught:
        await played(bench.engine, registry)
    assert caught.value.code is ErrorCode.CAPABILITY_DENIED
    assert caught.value.details["capability"] == "purchase_risk"
    assert bench.world.commands == 0


async def test_the_audit_knows_the_skill_of_every_execution(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    registry = skill(tmp_path, LATER, TITLE, more=", click")
    settings = replace(bench.engine.settings, history_path=str(tmp_path / "history.db"), history_enabled=True)
    async with Engine(settings, face="cli") as engine:
        report = await played(engine, registry)
    assert not report.failed
    with History.open(str(tmp_path / "history.db")) as kept:
        events = [(row.event, row.skill_id, row.recipe_id) for row in reversed(kept.audit())]
    assert events[0] == ("compile", SKILL, SKILL)
    assert {event for event, _, _ in events} == {"compile", "execute", "result"}
    assert {(skill_id, recipe_id) for _, skill_id, recipe_id in events} == {(SKILL, SKILL)}
    assert len(events) == 1 + 2 * 3


async def test_a_compiled_artifact_is_executed_whole(connect: Connect, tmp_path: Path) -> None:
    """``compile-artifact > c.json; execute --execution c.json`` is ``skills run --artifact`` in two steps."""
    bench = await connect()
    registry = skill(tmp_path, LATER, TITLE, more=", click", redaction="hash")
    file = tmp_path / "c.json"

    async def clawperator(*arguments: str) -> tuple[int, dict[str, Any], str]:
        done = await ran(*CLI, *arguments, env=bench.env)
        return done.exit_code, done.document, done.err

    code, compiled, err = await clawperator(
        *("skills", "compile-artifact", SKILL, "--artifact", "look", "--registry", registry.path)
    )
    assert (code, err, "execution" in compiled, len(compiled["executions"])) == (0, "", False, 3)
    file.write_text(json.dumps(compiled))
    code, answer, err = await clawperator("execute", "--execution", str(file), "--device-id", bench.serial)
    assert (code, err) == (0, "")
    assert (answer["planned"], len(answer["executions"])) == (3, 3)
    assert [entry["stepId"] for entry in answer["variance"]] == ["later"]
    assert answer["outputs"]["heading"].startswith("sha256:")
    assert "skillId" not in answer
    code, answer, _ = await clawperator("execute", str(file), "--dry-run")
    assert (code, len(answer["plans"])) == (0, 3)
    compiled["capabilities"].append("purchase_risk")
    code, answer, _ = await clawperator("execute", json.dumps(compiled), "--device-id", bench.serial)
    assert (code, answer["code"]) == (1, "CAPABILITY_DENIED")


async def test_a_node_is_chosen_on_a_fresh_tree(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    chosen = CHOSEN.format(more='enabled: true, resource_id: "android:id/title"', step="")
    report = await played(bench.engine, skill(tmp_path, TITLE, chosen, FONT, more=", click"))
    assert report.errors == []
    answer = report.to_dict()
    assert (answer["planned"], len(answer["executions"]), bench.world.commands) == (2, 2, 3)
    (choice,) = answer["choices"]
    assert (choice["stepId"], choice["matcher"]) == ("open_display", {"textEquals": "Display"})
    opened, font = answer["executions"][1]["outcome"]["steps"]
    assert (opened["status"], font["status"]) == ("done", "done")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("clickable: true", "NODE_NOT_FOUND"),
        ('all_of: [{any_of: [{text_equals: "Nowhere"}, {text_equals: "Display"}]}], enabled: false', "NODE_NOT_FOUND"),
    ],
)
async def test_without_a_node_nothing_is_clicked(connect: Connect, tmp_path: Path, more: str, code: str) -> None:
    bench = await connect()
    report = await played(bench.engine, skill(tmp_path, TITLE, CHOSEN.format(more=more, step=""), FONT, more=", click"))
    (error,) = report.errors
    assert (error["code"], error["details"]["actionId"]) == (code, "open_display")
    assert (report.to_dict()["planned"], len(report.results), bench.world.commands) == (2, 1, 2)


async def test_several_nodes_are_left_alone(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    titles = (
        CHOSEN.format(more="enabled: true", step="").replace("text_equals", "text_contains").replace("Anzeige", "a")
    )
    report = await played(bench.engine, skill(tmp_path, titles, TITLE, more=", click"))
    (error,) = report.errors
    assert (error["code"], len(report.results)) == ("RECIPE_SELECTOR_UNSUPPORTED", 1)
    assert error["details"]["matches"] > len(error["details"]["found"]) == 3


async def test_an_optional_choice_is_variance(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    chosen = CHOSEN.format(more="selected: true", step="optional: true\n")
    report = await played(bench.engine, skill(tmp_path, chosen, TITLE, more=", click"))
    assert report.errors == []
    (entry,) = report.variance
    assert (entry["stepId"], entry["found"]["errorCode"]) == ("open_display", "NODE_NOT_FOUND")
    assert entry["expected"]["selector"]["selected"] is True
    assert report.outputs == {"heading": "Settings"}


async def test_a_choice_is_carried_by_a_file(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    registry = skill(tmp_path, TITLE, CHOSEN.format(more="enabled: true", step=""), FONT, more=", click")

    async def clawperator(*arguments: str) -> tuple[int, str]:
        return (await ran(*CLI, *arguments, env=bench.env))[:2]

    compile_it = ("skills", "compile-artifact", SKILL, "--artifact", "look", "--registry", registry.path)
    code, out = await clawperator(*compile_it)
    assert (code, "execution" in json.loads(out)) == (0, False)
    file = tmp_path / "c.json"
    file.write_text(out)
    assert await clawperator(*compile_it) == (0, out)
    code, out = await clawperator("execute", str(file), "--dry-run")
    assert (code, json.loads(out)["choices"][0]["stepId"]) == (0, "open_display")
    code, out = await clawperator("execute", str(file), "--device-id", bench.serial, "--max-snapshot-bytes", "100")
    assert (code, json.loads(out)["choices"][0]["matcher"]) == (0, {"textEquals": "Display"})
    alone = json.dumps(json.loads(file.read_text())["executions"][1])
    code, out = await clawperator("execute", alone, "--device-id", bench.serial)
    assert (code, json.loads(out)["code"]) == (1, "EXECUTION_VALIDATION_FAILED")


async def test_from_the_command_line(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    registry = skill(tmp_path, LATER, TITLE, more=", click", redaction="hash")

    async def run(*arguments: str) -> Ran:
        words = ("skills", "run", SKILL, "--registry", registry.path, "--artifact", "look", "--device-id", bench.serial)
        return await ran(*CLI, *words, *arguments, env=bench.env)

    code, out, err = await run()
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["outputs"]["heading"].startswith("sha256:")
    assert [entry["stepId"] for entry in answer["variance"]] == ["later"]
    code, out, err = await run("--output", "pretty", "--vars", '{"expected": "x"}')
    assert code == 0
    assert out.startswith("success  com.android.settings.look look on ")
    assert "optional step later was skipped: NODE_NOT_FOUND" in out
    assert "output letters is absent" in err
    code, out, _ = await run("--vars", "[]")
    assert (code, json.loads(out)["code"]) == (1, "COMPILE_VARS_PARSE_FAILED")
