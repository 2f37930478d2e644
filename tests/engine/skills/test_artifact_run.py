"""Playing compiled artifacts: which executions run, what ends a play, and what the report says. The device is a script here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clawperator.engine import EngineError, ErrorCode, RunOptions
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.executions.outcome import outcome_of
from clawperator.engine.skills.artifact_run import ArtifactReport, run_artifact
from clawperator.engine.skills.compiled import Compiled, Confirm, Output


def execution(number: int, *actions: str) -> dict[str, Any]:
    kinds = [{"id": name, "type": "read_text", "params": {"matcher": {"textEquals": name}}} for name in actions]
    return {"commandId": f"cmd-{number}", "taskId": "task", "source": "test", "actions": kinds}


def compiled(*executions: dict[str, Any], **declared: Any) -> Compiled:
    given: dict[str, Any] = {
        "skill_id": "com.example.look",
        "artifact": "look",
        "executions": executions,
        "optional": (),
        "recipe": {"id": "r", "version": "1.0.0", "type": "flow"},
        "capabilities": (),
        "outputs": (),
        "confirms": (),
        "warnings": (),
    }
    return Compiled(**{**given, **declared})


class Device:
    """Answers executions: what each action reads, or how its plan ends."""

    def __init__(self, tmp_path: Path, answers: dict[str, Any]) -> None:
        env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        self.settings = SimpleNamespace(environment=env)
        self.answers = answers
        self.asked: list[dict[str, Any]] = []

    async def execute(self, payload: Any, **how: Any) -> ExecutionResult:
        self.asked.append({"commandId": payload["commandId"], **how})
        results: list[dict[str, Any]] = []
        envelope = {"commandId": payload["commandId"], "status": "success", "stepResults": results, "error": None}
        for action in payload["actions"]:
            answer = self.answers.get(action["id"], "")
            if isinstance(answer, EngineError):
                raise answer
            if isinstance(answer, dict):  # the app gives up on the whole plan
                results.clear()
                envelope |= {"status": "failed", **answer}
                break
            step = {"id": action["id"], "actionType": action["type"], "success": answer is not False, "data": {}}
            step["data"] = {"error": "TARGET_NOT_FOUND"} if answer is False else {"text": answer}
            results.append(step)
        warning = {"code": "W", "path": "", "message": f"of {payload['commandId']}"}
        outcome, name = outcome_of((), (), envelope), f"id-{len(self.asked)}"
        options = how["options"]
        then = {"since": options.then_since, "read by": name} if options.then else None
        return ExecutionResult(
            envelope, outcome, "serial-1", name, "artifact_compiled", "operator", (warning,), then=then
        )


async def played(
    tmp_path: Path, artifact: Compiled, options: RunOptions | None = None, **answers: Any
) -> tuple[ArtifactReport, Device]:
    device = Device(tmp_path, answers)
    return await run_artifact(device, artifact, options=options), device  # type: ignore[arg-type]


SECRET = "Ada Byron 1815"


@pytest.mark.parametrize("mode", ["mask", "hash", "drop"])
@pytest.mark.parametrize("ends", ["well", "unconfirmed", "failed", "without a result"])
async def test_what_a_recipe_redacts_stands_nowhere_in_the_answer(tmp_path: Path, mode: str, ends: str) -> None:
    artifact = compiled(
        execution(1, "owner"),
        execution(2, "again", "state"),
        optional=(),
        outputs=(Output("owner", "string", mode, "owner", "text", r"^Owner: (.+)$"),),
        confirms=(Confirm("state", "state", "read_text", {"equals": "On"}),),
        warnings=({"code": "C", "path": "", "message": f"of {SECRET}"},),
        private=("Ada's lamp",),
    )
    answers: dict[str, Any] = {"owner": f"Owner: {SECRET}", "again": f"'{SECRET}' and Ada's lamp", "state": "On"}
    if ends == "unconfirmed":
        answers["state"] = "nothing but Ada"
    elif ends == "failed":
        answers["state"] = {"error": f"No node says {SECRET}", "errorCode": "NODE_NOT_FOUND"}
    if ends == "without a result":
        details = {"selector": {"textEquals": "Ada's lamp"}, "nearest": [SECRET]}
        answers["again"] = EngineError(ErrorCode.NODE_NOT_FOUND, f"No {SECRET}", details=details)
        with pytest.raises(EngineError) as caught:
            await played(tmp_path, artifact, **answers)
        answer = caught.value.to_answer()
        assert answer["error"]["executions"][0]["envelope"]["stepResults"][0]["id"] == "owner"
    else:
        report, _ = await played(tmp_path, artifact, **answers)
        report.then = {"view": f'Text "{SECRET}" @1,2', "tree": f'<node text="Owner: {SECRET}" />'}
        answer = report.to_dict()
        assert ("owner" in answer["outputs"]) == (mode != "drop")
        read = answer["executions"][0]["envelope"]["stepResults"][0]
        assert ("text" in read["data"]) == (mode != "drop")
        assert answer["ok"] == (ends == "well")
    text = repr(answer)
    assert SECRET not in text
    assert "Ada" not in text


async def test_what_a_recipe_does_not_redact_is_answered_as_it_was_read(tmp_path: Path) -> None:
    artifact = compiled(execution(1, "read"), outputs=(Output("o", "string", "none", "read", "text", ""),))
    report, _ = await played(tmp_path, artifact, read=SECRET)
    answer = report.to_dict()
    assert answer["outputs"] == {"o": SECRET}
    assert answer["executions"][0]["envelope"]["stepResults"][0]["data"]["text"] == SECRET


ABORT = {"error": "No UI node found", "errorCode": "NODE_NOT_FOUND"}


async def test_one_execution(tmp_path: Path) -> None:
    artifact = compiled(
        execution(1, "read"),
        outputs=(Output("temperature", "number", "none", "read", "text", ""),),
        warnings=({"code": "C", "path": "", "message": "of the compiler"},),
    )
    report, device = await played(tmp_path, artifact, read="21.5")
    answer = report.to_dict()
    assert answer.pop("durationMs") >= 0
    assert answer == {
        "ok": True,
        "skillId": "com.example.look",
        "artifact": "look",
        "recipe": {"id": "r", "version": "1.0.0", "type": "flow"},
        "deviceId": "serial-1",
        "planned": 1,
        "executions": [
            {
                "envelope": {
                    "commandId": "cmd-1",
                    "status": "success",
                    "stepResults": [
                        {"id": "read", "actionType": "read_text", "success": True, "data": {"text": "21.5"}}
                    ],
                    "error": None,
                },
                "outcome": {
                    "status": "succeeded",
                    "steps": [
                        {
                            "id": "read",
                            "type": "read_text",
                            "status": "done",
                            "durationMs": None,
                            "target": {"text": "21.5"},
                        }
                    ],
                },
                "terminalSource": "clawperator_result",
                "executionId": "id-1",
                "mode": "artifact_compiled",
                "backend": "operator",
                "warnings": [{"code": "W", "path": "", "message": "of cmd-1"}],
            }
        ],
        "outputs": {"temperature": 21.5},
        "variance": [],
        "errors": [],
        "warnings": [
            {"code": "C", "path": "", "message": "of the compiler"},
            {"code": "W", "path": "", "message": "of cmd-1"},
        ],
    }
    (asked,) = device.asked
    assert asked["options"].profile == "flat"


async def test_a_json_template_has_no_declarations(tmp_path: Path) -> None:
    report, _ = await played(tmp_path, compiled(execution(1, "read"), recipe=None))
    assert not {"recipe", "outputs", "variance"} & set(report.to_dict())


async def test_options_are_kept_and_the_device_is_the_same_to_the_end(tmp_path: Path) -> None:
    device = Device(tmp_path, {})
    options = RunOptions(raw_envelope=True, max_snapshot_bytes=5)
    await run_artifact(
        device,  # type: ignore[arg-type]
        compiled(execution(1, "a"), execution(2, "b")),
        receiver_package="p",
        timeout_ms=9_000,
        options=options,
    )
    first, second = device.asked
    assert (first["device_id"], second["device_id"]) == (None, "serial-1")
    for asked in (first, second):
        assert (asked["receiver_package"], asked["timeout_ms"]) == ("p", 9_000)
        assert (asked["options"].raw_envelope, asked["options"].max_snapshot_bytes) == (True, 5)


@pytest.mark.parametrize("failure", [ABORT, False])
async def test_an_optional_step_may_fail(tmp_path: Path, failure: Any) -> None:
    artifact = compiled(execution(1, "a"), execution(2, "maybe"), execution(3, "c"), optional=("maybe",))
    report, device = await played(tmp_path, artifact, maybe=failure)
    assert not report.failed
    assert [asked["commandId"] for asked in device.asked] == ["cmd-1", "cmd-2", "cmd-3"]
    (entry,) = report.variance
    assert entry["stepId"] == "maybe"
    assert entry["expected"]["params"] == {"matcher": {"textEquals": "maybe"}}
    assert entry["found"]["errorCode"] == ("TARGET_NOT_FOUND" if failure is False else "NODE_NOT_FOUND")


async def test_an_optional_step_that_is_there(tmp_path: Path) -> None:
    artifact = compiled(execution(1, "maybe"), execution(2, "b"), optional=("maybe",))
    report, _ = await played(tmp_path, artifact)
    assert report.variance == []
    assert len(report.results) == 2


@pytest.mark.parametrize("failure", [ABORT, False])
async def test_a_failed_execution_ends_the_play(tmp_path: Path, failure: Any) -> None:
    artifact = compiled(
        execution(1, "a"),
        execution(2, "b"),
        execution(3, "c"),
        outputs=(Output("first", "string", "none", "a", "text", ""), Output("last", "string", "none", "c", "text", "")),
    )
    report, device = await played(tmp_path, artifact, a="read", b=failure)
    assert report.failed
    assert len(device.asked) == 2
    (error,) = report.errors
    assert error["code"] == ("TARGET_NOT_FOUND" if failure is False else "NODE_NOT_FOUND")
    assert error["details"]["commandId"] == "cmd-2"
    assert report.outputs == {"first": "read"}
    assert [warning["path"] for warning in report.warnings if warning["code"] == "OUTPUT_MISSING"] == ["outputs.last"]
    assert (report.to_dict()["ok"], report.to_dict()["planned"]) == (False, 3)


async def test_a_failed_confirmation_ends_the_play_and_leaves_the_envelope_alone(tmp_path: Path) -> None:
    confirm = Confirm("press", "press__confirm", "read_text", {"contains": "On"})
    artifact = compiled(execution(1, "press", "press__confirm"), execution(2, "next"), confirms=(confirm,))
    report, device = await played(tmp_path, artifact, press__confirm="Off")
    assert len(device.asked) == 1
    (error,) = report.errors
    assert (error["code"], error["details"]["actual"]) == ("VERIFY_FAILED", "***")
    envelope = report.results[0].envelope
    assert envelope["status"] == "success"
    assert envelope["stepResults"][1]["data"] == {"text": "Off"}

    report, device = await played(tmp_path, artifact, press__confirm="Is On")
    assert not report.failed
    assert len(device.asked) == 2


async def test_no_result_at_all_is_an_error_that_names_what_ran_before(tmp_path: Path) -> None:
    artifact = compiled(execution(1, "a"), execution(2, "b"))
    with pytest.raises(EngineError) as caught:
        await played(tmp_path, artifact, b=EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, "late"))
    assert caught.value.code is ErrorCode.RESULT_ENVELOPE_TIMEOUT
    assert (caught.value.extra["skillId"], caught.value.extra["artifact"]) == ("com.example.look", "look")
    assert [done["executionId"] for done in caught.value.extra["executions"]] == ["id-1"]


async def test_an_optional_step_does_not_hide_such_an_error(tmp_path: Path) -> None:
    artifact = compiled(execution(1, "maybe"), optional=("maybe",))
    with pytest.raises(EngineError):
        await played(tmp_path, artifact, maybe=EngineError(ErrorCode.NO_DEVICES, "none"))


async def test_hashed_outputs_compare_between_runs(tmp_path: Path) -> None:
    artifact = compiled(execution(1, "a"), outputs=(Output("who", "string", "hash", "a", "text", ""),))
    first, _ = await played(tmp_path, artifact, a="Ada")
    again, _ = await played(tmp_path, artifact, a="Ada")
    other, _ = await played(tmp_path, artifact, a="Bob")
    assert first.outputs == again.outputs != other.outputs
    (tmp_path / "clawperator" / "output-salt").write_text("broken")
    broken, _ = await played(tmp_path, artifact, a="Ada")
    assert broken.outputs != first.outputs
    assert "SALT_NOT_KEPT" in [warning["code"] for warning in broken.warnings]


async def test_someone_hears_of_every_execution(tmp_path: Path) -> None:
    artifact = compiled(execution(1, "maybe"), execution(2, "b", "c"), optional=("maybe",))
    heard: list[Any] = []
    await run_artifact(Device(tmp_path, {"maybe": ABORT}), artifact, on_event=heard.append)  # type: ignore[arg-type]
    assert [(news["event"], news["index"]) for news in heard] == [
        ("play.execution", 0),
        ("play.result", 0),
        ("play.execution", 1),
        ("play.result", 1),
    ]
    assert (heard[0]["optional"], heard[2]["optional"], heard[2]["actionCount"]) == ("maybe", "", 2)
    assert (heard[1]["succeeded"], heard[3]["succeeded"]) == (False, True)


@pytest.mark.parametrize(
    ("executions", "failing", "since", "reader", "count"),
    [
        ((execution(1, "a"),), "", "", "id-1", 1),
        ((execution(1, "a"),), "a", "", "id-1", 1),
        ((execution(1, "a"), execution(2, "b")), "", "<before/>", "id-3", 3),
        ((execution(1, "a"), execution(2, "b")), "a", "<before/>", "id-3", 3),
    ],
    ids=["one", "one that fails", "two", "two, of which the first fails"],
)
async def test_the_screen_after_the_run(
    tmp_path: Path, executions: tuple[Any, ...], failing: str, since: str, reader: str, count: int
) -> None:
    """It is part of the only execution; of several, it is compared with the screen before the first, also if one fails."""
    answers: dict[str, Any] = {"snap": "<before/>", **({failing: ABORT} if failing else {})}
    report, device = await played(tmp_path, compiled(*executions), RunOptions(then="diff"), **answers)
    answer = report.to_dict()
    assert answer["then"] == {"since": since, "read by": reader}
    assert not any("then" in each for each in answer["executions"])
    assert (len(device.asked), [asked["options"].then for asked in device.asked].count("diff")) == (count, 1)
