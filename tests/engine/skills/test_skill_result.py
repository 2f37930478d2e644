"""The result that a skill reports itself: the last two lines of its stdout (skills.md#skill-result)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine import EngineError, ErrorCode, Settings
from clawperator.engine.skills.frames import SKILL_RESULT
from clawperator.engine.skills.run import run_skill
from clawperator.engine.skills.skill_result import read_skill_result, result_rows, short
from tests.engine.skills.made import made_registry
from tests.support import table

SKILL = "com.example.app.look"
MARK = "[Clawperator-Skill-Result]"
RESULT: dict[str, Any] = {
    "contractVersion": "1.0.0",
    "skillId": SKILL,
    "status": "success",
    "result": {"kind": "text", "text": "21.5"},
    "checkpoints": [{"id": "open", "status": "ok"}, {"id": "read", "status": "ok", "note": "at once"}],
}
ENVELOPE = {"stepResults": [{"id": "look", "data": {"text": "21.5"}}]}


def frame(*, mark: str = MARK, **changes: Any) -> str:
    return f"{mark}\n{json.dumps({**RESULT, **changes})}\n"


def reference(index: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "result": {"kind": "result_envelope_ref", "execEnvelopeIndex": index, **more},
        "execEnvelopes": [ENVELOPE],
    }


def read(stdout: str) -> dict[str, Any] | None:
    return read_skill_result(stdout, SKILL)


@table("mark", SKILL_RESULT)
@table("before", ["", "starting\n", "RESULT|a=1\n\n", f"about {MARK}\n", f'{MARK} {{"a": 1}}\n'])
def test_it_is_read_under_either_brand_behind_anything(mark: str, before: str) -> None:
    assert read(before + frame(mark=mark)) == {**RESULT, "source": {"kind": "script"}}


@pytest.mark.parametrize("stdout", ["", "done\n", f"about {MARK}\n", f'{MARK} {{"status": "failed"}}\n'])
def test_without_the_mark_on_a_line_of_its_own_there_is_none(stdout: str) -> None:
    assert read(stdout) is None


@table(
    ("changes", "rows"),
    [
        ({}, [("result", "21.5")]),
        ({"result": None}, []),
        ({"result": {"kind": "json", "value": [1, None]}}, [("result", [1, None])]),
        ({"result": {"kind": "json", "value": None}}, [("result", None)]),
        (reference(), [("result", ENVELOPE)]),
        (reference(stepResultId="look"), [("result", ENVELOPE["stepResults"][0])]),
        ({"x-new": [1], "goal": None, "inputs": {"a": 1}, "diagnostics": {}}, [("result", "21.5")]),
        ({"terminalVerification": {"status": "verified"}}, [("result", "21.5"), ("verified", {"status": "verified"})]),
        ({"source": {"kind": "forged"}}, [("result", "21.5")]),
        ({"contractVersion": "1.7.12"}, [("result", "21.5")]),
    ],
)
def test_kinds_of_results(changes: dict[str, Any], rows: list[Any]) -> None:
    found = read(frame(**changes))
    assert found == {**RESULT, **changes, "source": {"kind": "script"}}
    assert list(result_rows(found)) == rows


def test_the_short_form_has_what_is_meant_of_the_envelopes() -> None:
    found = read(frame(**reference(stepResultId="look"), diagnostics={"a": 1}))
    assert found is not None
    assert short(found) == {
        **{key: RESULT[key] for key in ("skillId", "status", "checkpoints")},
        "result": {**found["result"], "value": ENVELOPE["stepResults"][0]},
    }


@table(
    ("stdout", "reason"),
    [
        (frame() + "behind it\n", "a further line follows its JSON object: 'behind it'"),
        (frame() + frame(), "stdout has more than one of them"),
        (frame() + f"{SKILL_RESULT[1]}\n", "stdout has more than one of them"),
        (MARK, "no JSON object follows its mark"),
        (f"{MARK}\n\n", "no JSON object follows its mark"),
        (f"{MARK}\nnot json\n", "Expecting value (line 1, column 1)"),
        (f"{MARK}\n[1]\n", "it is not a JSON object"),
        (f"{MARK}\n{json.dumps(RESULT, indent=1)}\n", "a further line follows"),
        (f"{MARK}\n{{}}\n", "contractVersion: Field required"),
        (frame(contractVersion="2.0.0"), "contractVersion: the major version must be 1"),
        (frame(contractVersion="1"), "contractVersion: the major version must be 1"),
        (frame(contractVersion="١.0.0"), "contractVersion: the major version must be 1"),
        (frame(contractVersion=1), "contractVersion: Input should be a valid string"),
        (frame(status="done"), "status: Input should be 'success', 'failed' or 'indeterminate'"),
        (frame(skillId="com.example.app.other"), "skillId: it is the result of another skill"),
        (frame(checkpoints=None), "checkpoints: "),
        (frame(checkpoints=[{"id": "", "status": "ok"}]), "checkpoints.0.id: "),
        (frame(checkpoints=[{"id": "a", "status": "done"}]), "checkpoints.0.status: "),
        (frame(result={"kind": "picture"}), "result: "),
        (frame(result={"kind": "text"}), "result.text: Field required"),
        (frame(result="21.5"), "result: "),
        (frame(**reference(1)), "result: no such result is in execEnvelopes"),
        (frame(**reference(-1)), "result.execEnvelopeIndex: "),
        (frame(**reference(stepResultId="gone")), "result: no such result is in execEnvelopes"),
        (frame(**{**reference(), "execEnvelopes": [1]}), "execEnvelopes.0: "),
        (f'{MARK}\n{{"status": "failed", "status": "success"}}\n', "status"),
        (f"{MARK}\n" + "[" * 100_000, "nested"),
    ],
)
def test_what_is_wrong_is_named(stdout: str, reason: str) -> None:
    with pytest.raises(EngineError) as refused:
        read(stdout)
    assert refused.value.code is ErrorCode.SKILL_RESULT_PARSE_FAILED
    assert reason in refused.value.details["reason"]


def test_a_result_that_lacks_a_required_key() -> None:
    for key in RESULT:
        rest = {name: value for name, value in RESULT.items() if name != key}
        with pytest.raises(EngineError) as refused:
            read(f"{MARK}\n{json.dumps(rest)}\n")
        assert refused.value.details["path"] == key


def test_line_ends_of_other_systems() -> None:
    assert read(frame().replace("\n", "\r\n")) is not None


@given(st.lists(st.sampled_from([*SKILL_RESULT, "{}", "{", "x", "", json.dumps(RESULT)]), max_size=8).map("\n".join))
def test_any_output_gives_a_result_an_error_or_none(stdout: str) -> None:
    marks = [line for line in stdout.splitlines() if line.strip() in SKILL_RESULT]
    if len(marks) != 1:
        code = _code(stdout)
        assert code == ("SKILL_RESULT_PARSE_FAILED" if marks else "")
    else:
        assert _code(stdout) in ("", "SKILL_RESULT_PARSE_FAILED")


def _code(stdout: str) -> str:
    try:
        read(stdout)
    except EngineError as error:
        return error.code
    return ""


# -- a script that reports its result


async def run(root: Path, stdout: str, *, exit_code: int = 0, verification: Any = None, **how: Any) -> Any:
    """The run of a script with this output; its error if it fails."""
    script = f"#!/bin/bash\ncat <<'END'\n{stdout}END\nexit {exit_code}\n"
    made = made_registry(root, {SKILL: {"run.sh": script}})
    entry = {**made.skills[0], "contract": {"verification": verification}}
    settings = Settings.resolve({"log_dir": str(root / "logs")}, {"HOME": str(root), "PATH": "/usr/bin:/bin"})
    try:
        return await run_skill(replace(made, skills=(entry,)), SKILL, settings=settings, validate=False, **how)
    except EngineError as error:
        return error


async def test_success(tmp_path: Path) -> None:
    done = (await run(tmp_path, "RESULT|a=1\n" + frame())).to_dict()
    assert done["skillResult"] == {**RESULT, "source": {"kind": "script"}}
    assert [each["kind"] for each in done["frames"]] == ["result"]


VERIFICATION = {"kind": "node_text_matches", "matcher": "text={name}"}


@pytest.mark.parametrize(
    ("stdout", "exit_code", "verification", "code"),
    [
        (frame(), 0, VERIFICATION, "SKILL_VERIFICATION_INDETERMINATE"),
        (frame(terminalVerification={"status": "not_run"}), 0, VERIFICATION, "SKILL_VERIFICATION_INDETERMINATE"),
        (frame(terminalVerification={"status": "verified"}), 0, VERIFICATION, ""),
        (frame(status="indeterminate"), 0, None, "SKILL_VERIFICATION_INDETERMINATE"),
        (frame(status="indeterminate"), 2, None, "SKILL_VERIFICATION_INDETERMINATE"),
        (frame(status="failed"), 0, None, "SKILL_EXECUTION_FAILED"),
        (frame(status="failed"), 1, VERIFICATION, "SKILL_EXECUTION_FAILED"),
        (frame(), 1, None, "SKILL_EXECUTION_FAILED"),
        (frame() + "late\n", 0, None, "SKILL_RESULT_PARSE_FAILED"),
        (frame() + "late\n", 1, None, "SKILL_EXECUTION_FAILED"),
        ("done\n", 0, VERIFICATION, ""),
    ],
)
async def test_status_exit_code_and_verification(
    tmp_path: Path, stdout: str, exit_code: int, verification: Any, code: str
) -> None:
    done = await run(tmp_path, stdout, exit_code=exit_code, verification=verification)
    if not code:
        assert "ok" not in done.to_dict()
        return
    assert done.code == code
    assert done.extra["exitCode"] == exit_code
    assert ("skillResult" in done.extra) == ("late" not in stdout)
    assert done.extra["stdout"] == stdout
    if exit_code and "late" in stdout:
        assert [warning["code"] for warning in done.extra["warnings"]] == ["SKILL_RESULT_PARSE_FAILED"]


async def test_the_failed_checkpoint_is_named(tmp_path: Path) -> None:
    failed = await run(tmp_path, frame(status="failed", checkpoints=[{"id": "login", "status": "failed"}]))
    assert failed.message == f"Skill {SKILL} reports that it failed at checkpoint login"


# -- the environment


async def test_the_script_gets_the_operator_app_that_is_installed(tmp_path: Path) -> None:
    class Phones:
        async def device(self, device_id: str | None) -> Any:
            if device_id == "gone":
                raise EngineError(ErrorCode.DEVICE_NOT_FOUND, "gone")
            return device_id or "theonly"

        async def operator_package(self, device: Any) -> str:
            return f"com.{device}.operator"

    script = (
        '#!/bin/sh\necho "${CLAWPERATOR_OPERATOR_PACKAGE-none} ${RECEIVER_PKG-none} ${#CLAWPERATOR_SKILL_RUN_ID}"\n'
    )
    made = made_registry(tmp_path, {SKILL: {"run.sh": script}})
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    for chosen, device, package in (
        ({}, "androperator", "com.androperator.operator"),
        ({}, "gone", "none"),
        ({}, None, "com.theonly.operator"),
        ({"receiver_package": "com.example.mine"}, "androperator", "com.example.mine"),
        ({"backend": "stock"}, "gone", "com.clawperator.operator"),
    ):
        settings = Settings.resolve({"log_dir": str(tmp_path / "logs"), **chosen}, env)
        done = await run_skill(made, SKILL, settings=settings, device_id=device, engine=Phones())
        assert done.output == f"{package} {package} 32\n"
