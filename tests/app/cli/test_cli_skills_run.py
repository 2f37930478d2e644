"""``skills run``: documents, streaming, refusals, signals, and scripts that say more than anybody wants to hear."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.engine.skills.made import alive, declare, made_registry, reporting, until
from tests.support import CLI, Spawn, patience, varied

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

SKILL = "com.example.app.look"
OTHER = "com.example.app.other"
SPEAKS = """#!/bin/sh
echo "args: $*"
printf 'told\\033[31m on stderr\\n' >&2
printf 'tab\\there, \\033]0;title\\007 \\342\\200\\256\\n'
echo 'RESULT|a=1'
"""


@pytest.fixture
def registry(lonely: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    made = made_registry(tmp_path / "root", {SKILL: {"run.sh": SPEAKS}, OTHER: {"run.sh": "#!/bin/sh\nexit 5\n"}})
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", made.path)
    return made.path


def script(registry: str, text: str) -> None:
    """Let the skill run ``text``, with the usual tools."""
    path = Path(registry).parent / SKILL / "scripts" / "run.sh"
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{text}")


@pytest.mark.usefixtures("registry")
class TestScripts:
    def test_the_document(self, cli: Cli) -> None:
        run = cli("skills", "run", SKILL, "--device-id", "serial-1", "--", "a", "--help", "--", "--output", "pretty")
        document = run.document
        assert (run.exit_code, run.err) == (0, "")
        assert document.pop("durationMs") >= 0
        assert document == {
            "ok": True,
            "skillId": SKILL,
            "output": "args: serial-1 a --help -- --output pretty\ntab\there, \x1b]0;title\x07 \u202e\nRESULT|a=1\n",
            "exitCode": 0,
            "frames": [{"kind": "result", "line": 3, "values": {"a": "1"}}],
        }

    def test_without_a_device(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that only the environment names is no argument: scripts count theirs."""
        monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "from-the-environment")
        assert cli("skills", "run", SKILL).document["output"].startswith("args: \n")

    def test_pretty_output_is_heard_and_harmless(self, cli: Cli) -> None:
        run = cli("skills", "run", SKILL, "--output", "pretty", "--", "x")
        assert run.exit_code == 0
        assert run.out.startswith("args: x\ntab\there, \\x1b]0;title\\x07 \\u202e\nRESULT|a=1\nok  ")
        assert "result   3      " in run.out
        assert run.err == "told\\x1b[31m on stderr\n"

    def test_verbose_tells_it_on_stderr(self, cli: Cli) -> None:
        run = cli("skills", "run", SKILL, "--verbose")
        assert run.document["ok"]
        assert "[clawperator] stdout: RESULT|a=1\n" in run.err
        assert "[clawperator] stderr: told\\x1b[31m on stderr\n" in run.err

    def test_what_was_asked_for(self, cli: Cli) -> None:
        run = cli("--timeout", "60000", "skills", "run", SKILL, "--expect-contains", "args", "--skip-validate")
        assert (run.document["timeoutMs"], run.document["expectedSubstring"]) == (60_000, "args")
        missing = cli("skills", "run", SKILL, "--expect-contains", "never said")
        assert (missing.exit_code, missing.document["code"]) == (1, "SKILL_OUTPUT_ASSERTION_FAILED")
        assert missing.document["expectedSubstring"] == "never said"
        assert missing.document["output"].endswith("RESULT|a=1\n")

    def test_a_failure(self, cli: Cli) -> None:
        run = cli("skills", "run", OTHER)
        assert run.exit_code == 1
        assert run.document["message"] == f"Skill {OTHER} exited with code 5"
        assert (run.document["skillId"], run.document["exitCode"]) == (OTHER, 5)
        assert (run.document["stderr"], run.document["stdout"]) == ("", "")

    def test_a_failure_does_not_repeat_what_was_heard(self, cli: Cli, registry: str) -> None:
        script(registry, "echo said once; echo complained once >&2; exit 4\n")
        run = cli("skills", "run", SKILL, "--output", "pretty")
        assert run.exit_code == 1
        assert run.out.count("said once") == 1
        assert (run.out + run.err).count("complained once") == 1
        assert "exited with code 4" in run.out

    def test_bad_files_are_warnings(self, cli: Cli, registry: str) -> None:
        (Path(registry).parent / SKILL / "skill.json").write_text("{")
        run = cli("skills", "run", SKILL)
        (warning,) = run.document["warnings"]
        assert (run.exit_code, run.document["ok"], warning["code"]) == (0, True, "SKILL_VALIDATION_FAILED")
        assert "skill.json" in warning["message"]
        assert "warnings" not in cli("skills", "run", SKILL, "--skip-validate").document
        pretty = cli("skills", "run", SKILL, "--output", "pretty")
        assert "WARN: " in pretty.err
        assert "skill.json" in pretty.err

    def test_a_missing_script(self, cli: Cli, registry: str) -> None:
        (Path(registry).parent / SKILL / "scripts" / "run.sh").unlink()
        run = cli("skills", "run", SKILL)
        assert (run.exit_code, run.document["code"]) == (1, "SKILL_SCRIPT_NOT_FOUND")

    def test_the_registry_may_be_named(self, cli: Cli, registry: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CLAWPERATOR_SKILLS_REGISTRY")
        assert cli("skills", "run", SKILL).document["code"] == "REGISTRY_READ_FAILED"
        script(registry, 'echo "$CLAWPERATOR_SKILLS_REGISTRY"\n')
        assert cli("skills", "run", SKILL, "--registry", registry).document["output"] == f"{registry}\n"

    def test_choices_reach_the_script(self, cli: Cli, registry: str, tmp_path: Path) -> None:
        script(registry, "env\n")
        policy = tmp_path / "p.toml"
        policy.write_text("version = 1\n[profiles.default]\n")
        flags = ["--safe-logs", "--no-history", "--policy", str(policy), "--log-level", "debug", "--device", "s1"]
        run = cli("skills", "run", SKILL, *flags, "--operator-package", "com.example.operator")
        env = dict(line.partition("=")[::2] for line in run.document["output"].splitlines())
        assert {name: env.get(name) for name in ("CLAWPERATOR_SAFE_LOGS", "CLAWPERATOR_NO_HISTORY")} == {
            "CLAWPERATOR_SAFE_LOGS": "1",
            "CLAWPERATOR_NO_HISTORY": "1",
        }
        assert env["CLAWPERATOR_POLICY"] == str(policy)
        assert env["CLAWPERATOR_LOG_LEVEL"] == "debug"
        assert env["CLAWPERATOR_LOG_DIR"] == str(tmp_path / ".clawperator" / "logs")
        assert env["DEVICE_ID"] == env["CLAWPERATOR_DEVICE_ID"] == "s1"
        assert env["RECEIVER_PKG"] == env["CLAWPERATOR_OPERATOR_PACKAGE"] == "com.example.operator"
        assert os.access(env["CLAWPERATOR_BIN"], os.X_OK)
        assert env["CLAW_BIN"] == env["CLAWPERATOR_BIN"]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), "USAGE", "requires <id>"),
        ((SKILL, "--expect-contains", ""), "USAGE", "must not be empty"),
        ((SKILL, "--vars", "{}"), "USAGE", "--vars requires --artifact"),
        ((SKILL, "--raw-envelope"), "USAGE", "--raw-envelope requires --artifact"),
        ((SKILL, "--max-snapshot-bytes", "5"), "USAGE", "--max-snapshot-bytes requires --artifact"),
        ((SKILL, "--artifact", "a", "--skip-validate"), "USAGE", "--skip-validate cannot be used with --artifact"),
        (
            (SKILL, "--artifact", "a", "--expect-contains", "x"),
            "USAGE",
            "--expect-contains cannot be used with --artifact",
        ),
        ((SKILL, "--artifact", "a", "--", "x"), "USAGE", "arguments after -- cannot be used with --artifact"),
        ((SKILL, "--artifact", "a"), "ARTIFACT_NOT_FOUND", "a"),
        ((SKILL, "stray"), "USAGE", "unexpected argument"),
        ((SKILL, "--timeout", "0"), "EXECUTION_VALIDATION_FAILED", "between 1 and"),
        ((SKILL, "--timeout", "0.5"), "EXECUTION_VALIDATION_FAILED", "whole number"),
        ((SKILL, "--timeout", "soon"), "EXECUTION_VALIDATION_FAILED", "finite number"),
        (("com.example.app.nothing",), "SKILL_NOT_FOUND", "com.example.app.nothing"),
        ((SKILL, "--registry", "/no/such/file"), "REGISTRY_READ_FAILED", "/no/such/file"),
    ],
)
def test_refusals(cli: Cli, arguments: tuple[str, ...], code: str, words: str) -> None:
    run = cli("skills", "run", *arguments)
    assert (run.exit_code, run.document["code"]) == (1, code)
    assert words in run.document["message"]
    assert run.err == ""


MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
"""Runs a command; its exit code, and on stderr the most memory that it had, as the system counts it."""


class TestProcesses:
    @pytest.fixture(autouse=True)
    def _spawn(self, spawn: Spawn) -> None:
        self.spawn = spawn

    def started(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self.spawn([*CLI, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def first_line(self, child: subprocess.Popen[bytes]) -> int:
        """The script's pid, which it says first; pretty output is heard while it runs."""
        assert child.stdout is not None
        return int(child.stdout.readline())

    @varied("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_signal_ends_script_and_all(self, registry: str, number: signal.Signals) -> None:
        script(registry, "sleep 1000 & echo $!\nwait\n")
        child = self.started("skills", "run", SKILL, "--output", "pretty")
        pid = self.first_line(child)
        assert alive(pid)
        child.send_signal(number)
        out, err = child.communicate(timeout=patience(50))
        assert (child.returncode, err) == (130, b"")
        assert b"INTERRUPTED" in out
        until(lambda: not alive(pid))

    def test_kill_ends_script_and_all_but_what_left_on_purpose(self, registry: str) -> None:
        script(registry, "sleep 1000 & echo $!\nsetsid sleep 1000 >&- 2>&- & echo $!\nwait\n")
        child = self.started("skills", "run", SKILL, "--output", "pretty")
        ours, daemon = self.first_line(child), self.first_line(child)
        until(lambda: os.getsid(daemon) == daemon)
        child.kill()
        child.communicate(timeout=patience(50))
        until(lambda: not alive(ours))
        assert alive(daemon)
        os.kill(daemon, signal.SIGKILL)

    def test_the_second_ctrl_c_waits_for_nothing(self, registry: str) -> None:
        script(registry, "trap 'echo asked' TERM\necho $$\nwhile :; do sleep 0.02; done\n")
        child = self.started("skills", "run", SKILL, "--output", "pretty")
        pid = self.first_line(child)
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None
        assert child.stdout.readline() == b"asked\n"
        assert alive(pid)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=patience(50))
        assert child.returncode == 130
        assert set(err.split()) <= {b"Terminated"}  # which the shell says of its sleep
        until(lambda: not alive(pid))

    def test_a_reader_that_leaves(self, registry: str) -> None:
        script(registry, "echo $$\nyes\n")
        child = self.started("skills", "run", SKILL, "--output", "pretty")
        pid = self.first_line(child)
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        assert child.stderr.read() == b""
        assert child.wait(timeout=patience(50)) == 141
        until(lambda: not alive(pid))
        child.stderr.close()

    def test_too_late(self, registry: str) -> None:
        script(registry, "echo $$\nsleep 1000\n")
        child = self.started("skills", "run", SKILL, "--timeout", "500")
        out, err = child.communicate(timeout=patience(50))
        assert (child.returncode, err) == (1, b"")
        error = json.loads(out)
        assert (error["code"], error["message"]) == (
            "SKILL_EXECUTION_TIMEOUT",
            f"Skill {SKILL} timed out after 500ms",
        )
        assert not alive(int(error["stdout"]))

    @pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs wait4")
    def test_a_hundred_megabytes(self, registry: str, tmp_path: Path) -> None:
        """16 MiB come back, and the memory knows nothing of the rest."""
        megabytes = 100
        script(
            registry,
            f"dd if=/dev/zero bs=1048576 count={megabytes} 2>/dev/null | tr '\\0' 'x'\necho; echo 'RESULT|last=1'\n",
        )
        with (tmp_path / "answer").open("wb") as answer, (tmp_path / "resident").open("wb") as resident_file:
            # Started by a small process: a child's highest mark begins with the memory of whoever starts it.
            measured = [sys.executable, "-c", MEASURE, *CLI, "skills", "run", SKILL]
            assert subprocess.run(measured, stdout=answer, stderr=resident_file, check=False).returncode == 0
        resident = int((tmp_path / "resident").read_text()) // (1024 if sys.platform != "darwin" else 1024 * 1024)
        assert resident < 2.5 * megabytes  # collecting everything takes a multiple: bytes, text, JSON
        document = json.loads((tmp_path / "answer").read_bytes())
        assert (len(document["output"]), set(document["output"])) == (16 * 1024 * 1024, {"x"})
        assert document["outputTruncated"] is True
        assert document["frames"] == [{"kind": "result", "values": {"last": "1"}}]


class TestInputs:
    """What a skill declares becomes flags, or trailing words in the order of the names."""

    @pytest.fixture(autouse=True)
    def declared(self, lonely: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        scripts = {SKILL: {"run.sh": reporting(SKILL)}, OTHER: {"run.sh": reporting(OTHER, status="failed")}}
        made = declare(
            made_registry(tmp_path / "root", scripts),
            SKILL,
            contract={"inputs": {"unit_name": "string", "mode": "cool|heat"}},
        )
        monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", made.path)

    @pytest.mark.parametrize(
        ("words", "output"),
        [
            (("--unit-name", "the kitchen", "--mode=cool"), "[--mode][cool][--unit-name][the kitchen]"),
            (("heat", "kitchen"), "[heat][kitchen]"),
            (("--mode", "heat", "kitchen", "--device-id", "s"), "[s][--mode][heat][kitchen]"),
            (("--", "--mode", "heat", "kitchen"), "[--mode][heat][kitchen]"),
        ],
    )
    def test_what_the_script_gets(self, cli: Cli, words: tuple[str, ...], output: str) -> None:
        run = cli("skills", "run", SKILL, *words)
        assert (run.exit_code, run.document["output"].splitlines()[0]) == (0, output)
        assert run.document["skillResult"]["status"] == "success"

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            ((SKILL,), "SKILL_INPUT_MISSING"),
            ((SKILL, "--mode", "dry", "k"), "SKILL_INPUT_INVALID"),
            ((SKILL, "--mode", "heat", "--unitname", "k"), "SKILL_INPUT_INVALID"),
            ((SKILL, "--mode", "heat", "--mode", "cool", "k"), "USAGE"),
            ((SKILL, "--mode"), "USAGE"),
            ((OTHER, "--mode", "heat"), "USAGE"),
            ((OTHER, "heat"), "USAGE"),
            (("absent", "--mode", "heat"), "USAGE"),
            ((SKILL, "--artifact", "x", "--mode", "heat"), "USAGE"),
            (("--mode", "heat"), "USAGE"),
            ((OTHER,), "SKILL_EXECUTION_FAILED"),
        ],
    )
    def test_refusals(self, cli: Cli, words: tuple[str, ...], code: str) -> None:
        run = cli("skills", "run", *words)
        assert (run.exit_code, run.document["code"]) == (1, code)

    def test_pretty_shows_the_checkpoints_and_the_result(self, cli: Cli) -> None:
        run = cli("skills", "run", SKILL, "heat", "k", "--output", "pretty")
        assert run.out.splitlines()[-3:] == ["ok      opened", "ok      read", "result  done"]
        failed = cli("skills", "run", OTHER, "--output", "pretty")
        assert "failed  read" in failed.err + failed.out
        shown = cli("skills", "get", SKILL, "--output", "pretty")
        assert "  input: --mode <cool|heat>" in shown.out.splitlines()

    def test_for_app(self, cli: Cli) -> None:
        assert cli("skills", "for-app", "com.example.app").document["count"] == 2
        assert cli("skills", "for-app", "com.example").document == {"skills": [], "count": 0}
