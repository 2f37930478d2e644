"""Running a skill's script: every outcome that the contract knows, with real node, bash and python."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import EngineError, ErrorCode, Settings
from clawperator.engine.diagnostics.log_file import today_path
from clawperator.engine.skills import run as running
from clawperator.engine.skills.artifact import compile_artifact
from clawperator.engine.skills.registry import Registry, load_registry
from clawperator.engine.skills.run import OutputLine, run_skill
from tests.engine.skills.made import alive, made_registry, until

SKILL = "com.example.app.look"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    return Settings.resolve({}, env)


def skill(tmp_path: Path, name: str, text: str | bytes) -> Registry:
    return made_registry(tmp_path / "root", {SKILL: {name: text}})


async def refusal(*args: Any, **options: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await run_skill(*args, **options)
    return caught.value


def logged(settings: Settings) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(today_path(settings.log_dir)).read_text().splitlines()]


SPEAKERS = {
    "run.js": """
        console.log(process.argv.slice(2).join("|"));
        console.error("told on stderr");
        console.log("RESULT|device=" + process.env.DEVICE_ID);
    """,
    "run.py": """
import os, sys
print("|".join(sys.argv[1:]))
print("told on stderr", file=sys.stderr)
print("RESULT|device=" + os.environ["DEVICE_ID"])
""",
    "run.sh": """#!/usr/bin/env bash
(IFS='|'; echo "$*")
echo "told on stderr" >&2
echo "RESULT|device=$DEVICE_ID"
""",
}


@pytest.mark.parametrize("name", [*SPEAKERS])
async def test_arguments_output_and_log(tmp_path: Path, settings: Settings, name: str) -> None:
    if name == "run.js" and not shutil.which("node"):
        pytest.skip("needs node")
    reported: list[OutputLine] = []
    arguments = ["a b", "--help", "", "*", "$HOME; echo x", "ü"]
    done = await run_skill(
        skill(tmp_path, name, SPEAKERS[name]),
        SKILL,
        settings=settings,
        device_id="serial 1",
        args=arguments,
        validate=True,
        on_line=reported.append,
    )
    output = f"serial 1|{'|'.join(arguments)}\nRESULT|device=serial 1\n"
    answer = done.to_dict()
    assert answer.pop("durationMs") > 0
    assert answer == {
        "skillId": SKILL,
        "output": output,
        "exitCode": 0,
        "frames": [{"kind": "result", "line": 2, "values": {"device": "serial 1"}}],
    }
    assert [line.text for line in reported if line.stream == "stdout"] == output.splitlines()
    assert [line.text for line in reported if line.stream == "stderr"] == ["told on stderr"]
    log = logged(settings)
    assert [line["event"] for line in log] == ["skills.run.start", *["skills.run.output"] * 3, "skills.run.complete"]
    assert {(line["skillId"], line["deviceId"]) for line in log} == {(SKILL, "serial 1")}
    assert {line.get("stream") for line in log} == {None, "stdout", "stderr"}


async def test_what_was_asked_for_stands_in_the_answer(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\necho found it\n")
    done = await run_skill(made, SKILL, settings=settings, timeout_ms=50_000, expect_contains="found it")
    answer = done.to_dict()
    assert (answer["timeoutMs"], answer["expectedSubstring"]) == (50_000, "found it")


async def test_a_script_that_fails(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\necho out; echo err >&2; exit 3\n")
    error = await refusal(made, SKILL, settings=settings)
    assert (error.code, error.message) == (ErrorCode.SKILL_EXECUTION_FAILED, f"Skill {SKILL} exited with code 3")
    assert error.extra == {"skillId": SKILL, "exitCode": 3, "stderr": "err\n", "stdout": "out\n"}
    assert (logged(settings)[-1]["event"], logged(settings)[-1]["exitCode"]) == ("skills.run.failed", 3)


async def test_a_script_that_a_signal_ends(tmp_path: Path, settings: Settings) -> None:
    error = await refusal(skill(tmp_path, "run.sh", "#!/bin/sh\nkill -KILL $$\n"), SKILL, settings=settings)
    assert (error.extra["exitCode"], error.details) == (137, {"signal": "SIGKILL"})


async def test_too_late(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\necho $$; echo soon >&2; sleep 1000\n")
    error = await refusal(made, SKILL, settings=settings, timeout_ms=700)
    assert (error.code, error.message) == (ErrorCode.SKILL_EXECUTION_TIMEOUT, f"Skill {SKILL} timed out after 700ms")
    assert error.extra["broadcastDispatchStatus"] == "unknown", "its last command may still act"
    assert error.extra["stderr"] == "soon\n"
    assert not alive(int(error.extra["stdout"]))
    assert logged(settings)[-1]["event"] == "skills.run.timeout"


async def test_the_expected_text_is_missing(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\necho out; echo wanted >&2\n")
    error = await refusal(made, SKILL, settings=settings, expect_contains="wanted")
    assert error.code is ErrorCode.SKILL_OUTPUT_ASSERTION_FAILED
    assert error.extra == {
        "skillId": SKILL,
        "exitCode": 0,
        "stderr": "wanted\n",
        "output": "out\n",
        "expectedSubstring": "wanted",
    }


async def test_a_failure_comes_before_the_expectation(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\nexit 1\n")
    error = await refusal(made, SKILL, settings=settings, expect_contains="x")
    assert error.code is ErrorCode.SKILL_EXECUTION_FAILED


@pytest.mark.parametrize(
    ("name", "text", "args", "cause", "hint"),
    [
        ("run.sh", "#!/no/such/interpreter\n", [], "ENOENT", "interpreter"),
        ("run.sh", "#!/bin/sh\r\necho x\r\n", [], "ENOENT", r"sed -i 's/\r$//' "),
        ("run.sh", "#!/bin/sh\n", ["x" * 1_100_000], "E2BIG", "shorter"),
        ("run.sh", "#!/bin/sh\n", ["a\0b"], "EINVAL", "NUL"),
        ("run.bat", "echo x\n", [], "ENOEXEC", ".sh"),
    ],
)
async def test_a_script_that_does_not_start(
    tmp_path: Path, settings: Settings, name: str, text: str, args: list[str], cause: str, hint: str
) -> None:
    error = await refusal(skill(tmp_path, name, text), SKILL, settings=settings, args=args)
    assert hint in error.hint
    assert error.code is ErrorCode.SKILL_EXECUTION_FAILED
    assert error.message.startswith(f"Skill {SKILL} {cause}: ")
    assert error.details["cause"] == cause
    assert error.extra == {"skillId": SKILL, "exitCode": 1}


@pytest.mark.parametrize("mode", [0o755, 0o644])
async def test_windows_line_ends_are_named(tmp_path: Path, settings: Settings, mode: int) -> None:
    made = skill(tmp_path, "run.sh", b"#!/usr/bin/env bash\r\nif true; then\r\n exit 0\r\nfi\r\n")
    os.chmod(made.place(SKILL, made.get(SKILL)["scripts"][0]), mode)
    assert "as on Windows" in (await refusal(made, SKILL, settings=settings)).hint


async def test_bytes_that_are_no_text(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.py", "import os\nos.write(1, b'\\xff caf\\xc3\\xa9 \\xe2\\x9c')\n")
    reported: list[OutputLine] = []
    done = await run_skill(made, SKILL, settings=settings, on_line=reported.append)
    assert done.output == "\ufffd café \ufffd"
    assert [line.text for line in reported] == [done.output]


async def test_output_beyond_its_limit(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MAX_OUTPUT", 1000)
    monkeypatch.setattr(running, "MAX_ERRORS", 10)
    script = "#!/bin/sh\nseq 20000; echo 'RESULT|last=1'; echo '✓ done'; seq 20000 >&2\n"
    made = skill(tmp_path, "run.sh", script)
    reported: list[OutputLine] = []
    done = await run_skill(made, SKILL, settings=settings, expect_contains="19999\n20000", on_line=reported.append)
    assert done.truncated
    assert done.to_dict()["outputTruncated"] is True
    assert done.output == "".join(f"{number}\n" for number in range(1, 300))[:1000]
    assert done.frames == ({"kind": "result", "values": {"last": "1"}}, {"kind": "done", "text": "✓ done"})
    assert len(reported) == 40_002  # all of it was told
    lines = [line["message"] for line in logged(settings) if line["event"] == "skills.run.output"]
    assert len(lines) < 10_000
    assert lines[-1] == "(the rest of the output is not logged)"
    error = await refusal(made, SKILL, settings=settings, expect_contains="never said")
    assert error.extra["stderr"] == "999\n20000\n"
    assert error.extra["stderrTruncated"] is True
    assert error.extra["outputTruncated"] is True


ARTIFACTS = {
    "stale.recipe.json": '{"commandId": "{{COMMAND_ID}}", "format": "ascii"}',
    "broken.recipe.json": "{",
    "gone.recipe.json": None,
    "broken.recipe.md": "no front matter",
}


async def test_what_is_wrong_with_other_files_is_a_warning(tmp_path: Path, settings: Settings) -> None:
    """Artifacts and metadata never stop a script: a failed run has the warnings, too."""
    skill(tmp_path, "run.sh", "#!/bin/sh\necho ran\nexit $1\n")
    folder = tmp_path / "root" / "skills" / SKILL
    (folder / "SKILL.md").unlink()
    (folder / "artifacts").mkdir()
    for name, text in ARTIFACTS.items():
        if text is not None:
            (folder / "artifacts" / name).write_text(text)
    path = tmp_path / "root" / "skills" / "skills-registry.json"
    document = json.loads(path.read_text())
    document["skills"][0]["artifacts"] = [f"skills/{SKILL}/artifacts/{name}" for name in ARTIFACTS]
    path.write_text(json.dumps(document))
    made = load_registry(str(path))
    done = await run_skill(made, SKILL, settings=settings, args=["0"])
    assert done.output == "ran\n"
    warnings = done.to_dict()["warnings"]
    assert [(one["code"], one["path"].rpartition("/")[2]) for one in warnings] == [
        *(("ARTIFACT_INVALID", name) for name in ARTIFACTS),
        *[("SKILL_VALIDATION_FAILED", "")] * 2,
    ]
    assert [one["message"] for one in warnings[-2:]] == [
        f"skills/{SKILL}/SKILL.md is missing",
        "skill.json and the registry differ in artifacts",
    ]
    assert all(name in one["message"] for name, one in zip(ARTIFACTS, warnings, strict=False))
    error = await refusal(made, SKILL, settings=settings, args=["3"])
    assert (error.code, error.extra["warnings"]) == (ErrorCode.SKILL_EXECUTION_FAILED, warnings)
    assert (await run_skill(made, SKILL, settings=settings, args=["0"], validate=False)).warnings == ()


async def test_a_failure_carries_the_fallback_instructions(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\nexit $1\n")
    name = f"skills/{SKILL}/SKILL.md"
    for named, carried in ((name, made.place(SKILL, name)), ("../x", None), ("skills/none.md", None), (7, None)):
        chosen = replace(made, skills=({**made.skills[0], "fallback_instructions_path": named},))
        error = await refusal(chosen, SKILL, settings=settings, args=["3"])
        assert error.extra.get("fallback_instructions_path") == carried
        with pytest.raises(EngineError) as caught:
            compile_artifact(chosen, SKILL, "none")
        assert caught.value.extra.get("fallback_instructions_path") == carried
    assert "fallback_instructions_path" not in (await run_skill(made, SKILL, settings=settings, args=["0"])).to_dict()


async def test_a_missing_script_says_so(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\n")
    os.unlink(made.place(SKILL, f"skills/{SKILL}/scripts/run.sh"))
    error = await refusal(made, SKILL, settings=settings)
    assert (error.code, error.extra["skillId"]) == (ErrorCode.SKILL_SCRIPT_NOT_FOUND, SKILL)
    none = replace(made, skills=({**made.skills[0], "scripts": []},))
    assert (await refusal(none, SKILL, settings=settings)).code is ErrorCode.SKILL_SCRIPT_NOT_FOUND


async def test_what_is_refused_before_anything_runs(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    unknown = await refusal(made, "com.example.app.no", settings=settings)
    assert unknown.code is ErrorCode.SKILL_NOT_FOUND
    observing = await refusal(made, SKILL, settings=replace(settings, read_only=True))
    assert observing.code is ErrorCode.READ_ONLY
    for wrong in (0, -1, running.MAX_TIMEOUT_MS + 1):
        error = await refusal(made, SKILL, settings=settings, timeout_ms=wrong)
        assert (error.code, error.details) == (ErrorCode.EXECUTION_VALIDATION_FAILED, {"path": "timeoutMs"})
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / ".clawperator").exists()


async def test_cancelled(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\necho $$\nsleep 1000\n")
    reported: asyncio.Queue[OutputLine] = asyncio.Queue()
    run = asyncio.create_task(run_skill(made, SKILL, settings=settings, on_line=reported.put_nowait))
    pid = int((await reported.get()).text)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    until(lambda: not alive(pid))
    last = logged(settings)[-1]
    assert (last["event"], last["status"]) == ("skills.run.failed", "INTERRUPTED")


async def test_the_log_holds_no_arguments_and_nothing_that_was_typed(tmp_path: Path, settings: Settings) -> None:
    typed = json.dumps({"stepResults": [{"actionType": "enter_text", "data": {"text": "hunter3"}}]})
    made = skill(tmp_path, "run.sh", f"#!/bin/sh\necho \"types $2 now\"\ncat <<'END'\n{typed}\nEND\nexit 3\n")
    error = await refusal(made, SKILL, settings=settings, device_id="emulator-5554", args=["hunter2 x"])
    assert "hunter2 x" in str(error.to_dict())
    log = json.dumps(logged(settings))
    assert "types [argument] now" in log
    assert "hunter" not in log


async def test_safe_logs_hold_no_words_of_the_script(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\necho 'Ada Lovelace 21'\n")
    done = await run_skill(made, SKILL, settings=replace(settings, safe_logs=True))
    assert done.output == "Ada Lovelace 21\n"  # the answer is the caller's
    (line,) = (line for line in logged(settings) if line["event"] == "skills.run.output")
    assert line["message"] == "*** ******** **"


async def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path, settings: Settings) -> None:
    made = skill(tmp_path, "run.sh", "#!/bin/sh\necho fine\n")
    (tmp_path / "file").write_text("")
    done = await run_skill(made, SKILL, settings=replace(settings, log_dir=str(tmp_path / "file" / "logs")))
    assert done.output == "fine\n"
