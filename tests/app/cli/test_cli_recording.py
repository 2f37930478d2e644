"""``record`` on the command line: files in, files out, refusals; and the commands that ask a device, against the simulation."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.cli.test_cli_end_to_end import Simulate, simulate  # noqa: F401 - a fixture
from tests.engine.recordings.sessions import SHOP, Person, click, lines, node, record, screen, window

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

HERE = screen(node(resource_id=f"{SHOP}:id/go", text="Go"))
SMALL = lines(window(HERE), click(0, HERE, resourceId=f"{SHOP}:id/go", text="Go"))


async def beans(person: Person) -> None:
    person.device.activities.launch(SHOP)
    person.tap("search_bar", "search_src_text")
    await person.type("coffee")
    person.tap("search_go_btn", "Coffee beans 1 kg", "add_to_cart")


@pytest.fixture
def small(tmp_path: Path) -> str:
    file = tmp_path / "small.ndjson"
    file.write_bytes(SMALL)
    return str(file)


@pytest.fixture
def shopping(tmp_path: Path) -> str:
    file = tmp_path / "shopping.ndjson"
    file.write_bytes(asyncio.run(record(beans)))
    return str(file)


class TestParse:
    def test_the_log_stands_beside_the_recording(self, cli: Cli, small: str) -> None:
        run = cli("record", "parse", "--input", small)
        target = small.replace(".ndjson", ".steps.json")
        assert (run.exit_code, run.document) == (0, {"ok": True, "outputFile": target, "stepCount": 2})
        assert run.err.splitlines() == [
            f"[clawperator] 1: open_app {SHOP}",
            f"[clawperator] 2: click {SHOP}:id/go in {SHOP}",
        ]
        log = json.loads(Path(target).read_text())
        assert [step["type"] for step in log["steps"]] == ["open_app", "click"]
        assert Path(target).stat().st_mode & 0o077 == 0

    def test_another_name_and_another_ending(self, cli: Cli, small: str, tmp_path: Path) -> None:
        assert (
            cli("record", "parse", "--input", small, "--out", str(tmp_path / "a")).document["outputFile"].endswith("/a")
        )
        other = tmp_path / "file.txt"
        other.write_bytes(SMALL)
        assert cli("recording", "parse", "--input", str(other)).document["outputFile"] == f"{other}.steps.json"

    def test_warnings_stand_in_the_answer(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "x.ndjson"
        file.write_bytes(lines(window()))
        assert cli("record", "parse", "--input", str(file)).document["warnings"] == [
            "seq 1: the window_change has no snapshot"
        ]

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "RECORDING_PARSE_FAILED"),
            (b"{}\n", "RECORDING_PARSE_FAILED"),
            (SMALL[:-20], "RECORDING_PARSE_FAILED"),
            (lines(header={"schemaVersion": 2}), "RECORDING_SCHEMA_VERSION_UNSUPPORTED"),
        ],
    )
    def test_what_is_no_recording(self, cli: Cli, tmp_path: Path, data: bytes, code: str) -> None:
        file = tmp_path / "x.ndjson"
        file.write_bytes(data)
        for command in ("parse", "draft", "replay"):
            run = cli("record", command, "--input", str(file))
            assert (run.exit_code, run.document["code"]) == (1, code)
        assert [path.name for path in tmp_path.iterdir()] == ["x.ndjson"]

    def test_hostile_texts_cannot_steer_the_terminal(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "x.ndjson"
        file.write_bytes(lines(click(0, text="\x1b[2J\nrm -rf\u202e")))
        run = cli("record", "parse", "--input", str(file))
        assert "\x1b" not in run.out + run.err
        assert len(run.err.splitlines()) == 1


class TestDraft:
    def test_a_draft_passes_lint_and_tells_what_is_left(self, cli: Cli, shopping: str) -> None:
        flags = ("--id", "shop.beans", "--app-version", "4.12.0", "--app-version-code", "41200", "--android-api", "34")
        run = cli("record", "draft", "--input", shopping, *flags)
        assert run.exit_code == 0
        target = shopping.replace(".ndjson", ".recipe.md")
        assert {key: run.document[key] for key in ("outputFile", "recipeId", "stepCount")} == {
            "outputFile": target,
            "recipeId": "shop.beans",
            "stepCount": 6,
        }
        assert run.document["inputs"] == [
            {"name": "search_src_text", "why": "typed during the recording", "recorded": "coffee"}
        ]
        text = Path(target).read_text()
        assert 'app_build: {version_name: "4.12.0", version_code: 41200}' in text
        assert "fill in" not in text

    def test_a_step_log_is_enough_for_a_draft(self, cli: Cli, small: str) -> None:
        log = cli("record", "parse", "--input", small).document["outputFile"]
        run = cli("record", "draft", "--input", log)
        assert run.document["outputFile"] == log.replace(".steps.json", ".recipe.md")

    def test_no_file_is_overwritten_by_chance(self, cli: Cli, small: str) -> None:
        assert cli("record", "draft", "--input", small).exit_code == 0
        again = cli("record", "draft", "--input", small)
        assert (again.exit_code, again.document["code"]) == (1, "FILE_EXISTS")
        assert cli("record", "draft", "--input", small, "--overwrite").exit_code == 0

    def test_blocked_terms_are_kept_out(self, cli: Cli, small: str, lonely: dict[str, str]) -> None:
        folder = Path(lonely["HOME"]) / ".clawperator"
        folder.mkdir()
        (folder / "blocked-terms.txt").write_text("shop:id/go\n")
        run = cli("record", "draft", "--input", small)
        assert run.document["inputs"] == []
        assert "shop:id/go" not in Path(run.document["outputFile"]).read_text()


class TestRefusals:
    @pytest.mark.parametrize("command", ["parse", "draft", "replay"])
    def test_no_input(self, cli: Cli, command: str) -> None:
        assert cli("record", command).document["code"] == "MISSING_ARGUMENT"
        assert cli("record", command, "--input", " ").document["code"] == "EXECUTION_VALIDATION_FAILED"
        assert cli("record", command, "--input", "absent.ndjson").document["code"] == "RECORDING_PARSE_FAILED"

    @pytest.mark.parametrize(
        ("flags", "code"),
        [
            (("--from", "nowhere"), "USAGE"),
            (("--vars", "[]"), "EXECUTION_VALIDATION_FAILED"),
            (("--vars", '{"a":"b"}'), "RECIPE_INPUT_UNDECLARED"),
            (("--vars", '{"a":1}'), "EXECUTION_VALIDATION_FAILED"),
        ],
    )
    def test_a_replay_is_refused_before_any_device_is_asked(
        self, cli: Cli, small: str, flags: tuple[str, ...], code: str
    ) -> None:
        run = cli("record", "replay", "--input", small, *flags)
        assert (run.exit_code, run.document["code"]) == (1, code)

    def test_a_recipe_that_is_none(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "x.recipe.md"
        file.write_text("# nothing")
        assert cli("record", "replay", "--input", str(file)).document["code"] == "RECIPE_PARSE_FAILED"
        assert cli("record", "replay", "--input", f"{file}.md").document["code"] == "RECIPE_PARSE_FAILED"

    @pytest.mark.parametrize(("command", "name"), [("draft", "pipe.steps.json"), ("replay", "pipe.md")])
    def test_nothing_waits_for_a_pipe(self, cli: Cli, tmp_path: Path, command: str, name: str) -> None:
        os.mkfifo(tmp_path / name)
        assert "not a regular file" in cli("record", command, "--input", str(tmp_path / name)).document["message"]

    def test_a_recipe_that_is_not_utf_8_is_refused(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "latin.md").write_bytes(b"---\nsummary: caf\xe9\n---\n")
        refused = cli("record", "replay", "--input", str(tmp_path / "latin.md")).document
        assert (refused["code"], refused["message"].rpartition(": ")[2]) == (
            "RECIPE_PARSE_FAILED",
            "it is not UTF-8 at byte 16",
        )

    @pytest.mark.parametrize("flags", [("--id", "a b"), ("--android-api", "0"), ("--app-version-code", "x")])
    def test_draft_flags(self, cli: Cli, small: str, flags: tuple[str, ...]) -> None:
        assert cli("record", "draft", "--input", small, *flags).document["code"] == "EXECUTION_VALIDATION_FAILED"

    def test_a_folder_that_cannot_be_written(self, cli: Cli, small: str, tmp_path: Path) -> None:
        target = str(tmp_path / "absent" / "x.json")
        assert cli("record", "parse", "--input", small, "--out", target).document["code"] == "FILE_NOT_WRITABLE"

    @pytest.mark.parametrize("session", ["a/b", "a b", ""])
    def test_a_session_is_a_name(self, cli: Cli, session: str) -> None:
        for command in ("start", "stop"):
            run = cli("record", command, f"--session-id={session}")
            assert (run.exit_code, run.document["code"]) == (1, "EXECUTION_VALIDATION_FAILED")


def test_on_a_device(
    simulate: Simulate,  # noqa: F811 - the fixture
    cli: Cli,
    shopping: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulate("--generation", "0.5")
    monkeypatch.chdir(tmp_path)
    started = cli("record", "start", "--session-id", "one")
    assert (started.exit_code, started.err) == (0, "")
    assert list(started.document) == [
        "ok",
        "envelope",
        "deviceId",
        "terminalSource",
        "isCanonicalTerminal",
        "executionId",
        "mode",
        "backend",
        "outcome",
    ]
    assert cli("open", SHOP).exit_code == 0
    assert cli("record", "stop").exit_code == 0
    pulled = cli("record", "pull", "--out", "here and/there", "--output", "pretty")
    assert "one:" in pulled.out
    assert "record draft --input '" in pulled.out, "a line to copy"
    assert Path("here and/there/one.ndjson").exists()
    replayed = cli("record", "replay", "--input", shopping, "--output", "pretty")
    assert replayed.exit_code == 0
    assert "click_add_to_cart" in replayed.out
    diverged = cli("record", "replay", "--input", shopping, "--from", "click_search_bar", "--output", "pretty")
    assert diverged.exit_code == 1
    assert diverged.out.startswith("REPLAY_DIVERGED")
    assert "--from click_search_bar" in diverged.out


def test_an_older_operator_cannot_record(simulate: Simulate, cli: Cli) -> None:  # noqa: F811 - the fixture
    simulate("--generation", "0.3")
    run = cli("record", "start")
    assert (run.exit_code, run.document["code"]) == (1, "EXECUTION_ACTION_UNSUPPORTED")
