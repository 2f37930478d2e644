"""``config``: people ask it when something is not as they set it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli


@pytest.fixture
def settings(tmp_path: Path, lonely: dict[str, str]) -> Path:
    """The settings file that the commands of this test use; it is not there yet."""
    folder = Path(lonely["XDG_CONFIG_HOME"]) / "clawperator"
    folder.mkdir(parents=True)
    return folder / "settings.toml"


def rows(document: dict[str, Any]) -> dict[str, tuple[Any, str, str]]:
    return {row["key"]: (row["value"], row["source"], row["by"]) for row in document["settings"]}


def test_path(cli: Cli, settings: Path, tmp_path: Path) -> None:
    places = {place["what"]: place for place in cli("config", "path").document["places"]}
    assert list(places) == ["settings", "policy", "themes", "log", "history", "drafts", "crash", "locks"]
    assert places["settings"] == {"what": "settings", "path": str(settings), "exists": False}
    assert places["themes"]["path"] == str(settings.parent / "themes")
    assert places["locks"]["path"] == str(tmp_path / ".clawperator" / "locks")
    settings.write_text('[history]\npath = "/var/runs.db"')
    places = {place["what"]: place for place in cli("config", "path").document["places"]}
    assert places["settings"]["exists"] is True
    assert places["history"]["path"] == "/var/runs.db"
    settings.write_text("= =")
    assert cli("config", "path").exit_code == 0


def test_path_makes_nothing(cli: Cli, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    cli("config", "path")
    cli("config", "show")
    cli("config", "check")
    assert sorted(tmp_path.rglob("*")) == before


def test_show(cli: Cli, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text('device_id = "from-file"\n[console]\ntheme = "claw-light"\n')
    monkeypatch.setenv("CLAWPERATOR_AGENT_ACTION", "an.ACTION")
    shown = cli("config", "show", "--receiver-package", "a.b")
    assert (shown.exit_code, shown.err) == (0, "")
    chosen = rows(shown.document)
    assert chosen["device_id"] == ("from-file", "file", "line 1")
    assert chosen["receiver_package"] == ("a.b", "flag", "--receiver-package")
    assert chosen["action_agent_command"] == ("an.ACTION", "env", "CLAWPERATOR_AGENT_ACTION")
    assert chosen["console.theme"] == ("claw-light", "file", "line 3")
    assert chosen["console.stream_lines"] == (100_000, "default", "")
    assert rows(cli("config", "show", "--device-id", "x").document)["device_id"] == ("x", "flag", "--device-id")


def test_show_of_a_wrong_file_is_an_error_that_leads_to_check(cli: Cli, settings: Path) -> None:
    settings.write_text("zz = 1\nyy = 2\n")
    shown = cli("config", "show")
    assert shown.exit_code == 1
    assert shown.document["code"] == "SETTINGS_INVALID"
    assert shown.document["message"].endswith("line 1: Unknown key zz (and 1 more: clawperator config check)")


@pytest.mark.parametrize("words", [("devices",), ("packages", "list"), ("observe", "snapshot")])
def test_a_wrong_file_is_an_error_of_every_command(cli: Cli, settings: Path, words: tuple[str, ...]) -> None:
    settings.write_text("zz = 1\n")
    run = cli(*words)
    assert (run.exit_code, run.document["code"]) == (1, "SETTINGS_INVALID")
    assert run.document["message"].endswith("line 1: Unknown key zz")


def test_check(cli: Cli, settings: Path) -> None:
    assert cli("config", "check").document == {"ok": True, "path": str(settings), "exists": False, "problems": []}
    settings.write_text("[console]\nbell = 1\nmuose = true\n")
    checked = cli("config", "check")
    assert checked.exit_code == 1
    assert checked.document == {
        "ok": False,
        "path": str(settings),
        "exists": True,
        "problems": [
            {"line": 2, "key": "console.bell", "message": "console.bell must be true or false, got 1", "hint": ""},
            {
                "line": 3,
                "key": "console.muose",
                "message": "Unknown key console.muose",
                "hint": "Did you mean 'mouse'?",
            },
        ],
    }
    pretty = cli("config", "check", "--output", "pretty").out
    assert f"{settings}:2  console.bell must be true or false, got 1\n" in pretty
    assert f"{settings}:3  Unknown key console.muose\n  Did you mean 'mouse'?\n" in pretty


def test_check_of_another_file(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("device_id = 'x'")
    assert cli("config", "check", str(other)).document["ok"] is True
    missing = cli("config", "check", str(tmp_path / "none.toml"))
    assert missing.exit_code == 1
    assert missing.document["message"] == f"{tmp_path / 'none.toml'} does not exist"
    assert cli("config", "check", str(tmp_path)).document["message"].endswith("cannot be read: Is a directory")


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ('"app.halp" = "f1"', "Unknown key binding app.halp", "Did you mean 'app.help'?"),
        ('app.quit = "contrl+q"', "keymap.app.quit: unknown key 'contrl+q'", ""),
        ('app.quit = "q"', "keymap.app.quit: 'q' belongs to app.back already", ""),
        ('app.zzzzzz = "f1"', "Unknown key binding app.zzzzzz", "Known: app.back, "),
        ('zzz = "f1"', "Unknown key binding zzz", "Ids begin with one of: app, "),
    ],
)
def test_check_of_keys(cli: Cli, settings: Path, line: str, message: str, hint: str) -> None:
    settings.write_text(f"[keymap]\n\n{line}\n")
    (problem,) = cli("config", "check").document["problems"]
    assert (problem["line"], problem["message"]) == (3, message)
    assert problem["hint"].startswith(hint)


def test_keys_that_exist_and_are_free(cli: Cli, settings: Path) -> None:
    settings.write_text('[keymap]\napp.help = "f1,question_mark"\napp.back = "ctrl+x"\napp.quit = "q,ctrl+q"\n')
    assert cli("config", "check").document["ok"] is True


def test_schema(cli: Cli) -> None:
    assert cli("config", "schema").document == cli("schema", "settings").document


@pytest.mark.parametrize("words", [("config", "path"), ("config", "show"), ("config", "check"), ("config", "schema")])
def test_it_starts_no_console_and_asks_no_adb(settings: Path, words: tuple[str, ...]) -> None:
    settings.write_text("[console]\nbell = true\n")
    script = (
        "import json, sys; from clawperator.app.cli.main import main; main(sys.argv[1:]);"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=50, check=True
    )
    loaded = json.loads(done.stderr)
    heavy = ("textual", "rich", "PIL", "yaml", "watchfiles", "asyncio", "clawperator.widgets", "clawperator.engine.adb")
    assert [name for name in loaded if name.startswith(heavy)] == []


def test_a_setting_reaches_its_command(cli: Cli, settings: Path) -> None:
    settings.write_text("receiver_package = 'from.file'\n[history]\nenabled = 3\n")
    assert cli("lock", "status").document["message"].endswith("line 3: history.enabled must be true or false, got 3")
