"""Every command × capability: what a profile does not allow is refused before a device, a tool or a file is touched.

There is no adb here and no SDK: a command that went further than the policy would fail with their codes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from clawperator.app.cli.command_table import COMMANDS
from clawperator.engine.config.policy import CAPABILITIES
from tests.app.cli.test_cli_recording import SMALL
from tests.engine.skills.made import made_registry

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

SKILL = "com.android.settings.overview"
READS = {
    "diff": ("{dump}", "{dump}"),
    "execute best-effort": ("--goal", "x"),
    "skills list": ("--registry", "builtin"),
    "skills get": (SKILL, "--registry", "builtin"),
    "skills search": ("settings", "--registry", "builtin"),
    "skills for-app": ("com.android.settings", "--registry", "builtin"),
    "skills validate": (SKILL, "--registry", "builtin"),
    "skills ci": ("--registry", "{registry}"),
    "policy show": (),
    "policy check": (),
    "policy schema": (),
    "version": (),
    "schema": ("execution",),
    "config path": (),
    "config show": (),
    "config check": (),
    "config schema": (),
    "completion": ("bash",),
    "help": (),
    "explain": ("NODE_NOT_FOUND",),
    "guide": (),
}
"""Commands that show documents of the product or files of the caller, and nothing of a device."""
SERVES = {
    "serve",
    "mcp",
    "console",
    "demo",
    "sim",
    "fleet join",
    "fleet devices",
    "warm start",
    "warm stop",
    "warm status",
}
"""Commands that run, or concern what runs, until it is ended. What is asked of them then is held against the policy, each for itself."""


class Asked(NamedTuple):
    """A command line that needs each of ``needs``."""

    words: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.words, *self.arguments[:1]))


def does(action: str, **params: object) -> str:
    plan = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator", "timeoutMs": 5000}
    return json.dumps({**plan, "actions": [{"id": "a", "type": action, "params": params}]})


LOOK, GO, TAP, TYPE, KEY, LONG = ("observe",), ("navigate",), ("click",), ("type_text",), ("input",), ("long_click",)
FILE, SETUP, AVD, APP = ("write_files",), ("setup_operator",), ("manage_emulators",), ("app",)
PHONE = "192.0.2.1:5555"
ASKED = (
    Asked("devices pair", (PHONE, "--code", "123456"), SETUP),
    Asked("devices pair", ("--qr",), SETUP),
    Asked("devices connect", (PHONE,), SETUP),
    Asked("devices disconnect", (PHONE,), SETUP),
    Asked("devices disconnect", ("--all",), SETUP),
    Asked("devices", (), LOOK),
    Asked("lock status", (), LOOK),
    Asked("lock status", ("--device-id", "x"), LOOK),
    Asked("packages list", (), LOOK),
    Asked("apps", (), LOOK),
    Asked("execute", ("--execution", does("snapshot_ui")), LOOK),
    Asked("execute", ("--execution", does("take_screenshot", path="a.png")), (*LOOK, *FILE)),
    Asked("execute", ("--execution", does("start_recording")), ("record",)),
    Asked(
        "execute", ("--execution", does("click", matcher={"textEquals": "x"}, clickType="long_click")), ("long_click",)
    ),
    Asked("exec", (does("press_key", key="home"),), (*KEY, *GO)),
    Asked("observe snapshot", (), LOOK),
    Asked("observe screenshot", (), LOOK),
    Asked("observe screenshot", ("--path", "a.png"), FILE),
    Asked("inspect ui", (), LOOK),
    Asked("match", ("--text", "x"), LOOK),
    Asked("suggest", ("--text", "x"), LOOK),
    Asked("action open-app", ("--app", "com.example"), GO),
    Asked("action open-uri", ("--uri", "https://example.com"), GO),
    Asked("action click", ("--text", "x"), TAP),
    Asked("action read", ("--text", "x"), LOOK),
    Asked("action type", ("--id", "x:id/y", "--text", "x"), TYPE),
    Asked("action wait", ("--text", "x"), LOOK),
    Asked("action press-key", ("--key", "home"), (*KEY, *GO)),
    Asked("action scroll", (), GO),
    Asked("action scroll-until", ("--text", "x"), GO),
    Asked("action scroll-and-click", ("--text", "x"), (*GO, *TAP)),
    Asked("action wait", ("--text", "x", "--gone"), LOOK),
    Asked("action type", ("--id", "x:id/y", "--text", "x", "--submit"), (*TYPE, *TAP)),
    Asked("set", ("--id", "x:id/y", "--checked", "true"), (*LOOK, *TAP)),
    Asked("set", ("--id", "x:id/y", "--text", "x"), (*LOOK, *TYPE)),
    Asked("submit", (), (*LOOK, *KEY, *TAP)),
    Asked("input key", ("ENTER",), (*KEY, *TAP)),
    Asked("input key", ("A",), (*KEY, *TYPE)),
    Asked("input key", ("29",), (*KEY, *TYPE)),
    Asked("input key", ("BACK",), (*KEY, *GO)),
    Asked("input key", ("POWER",), KEY),
    Asked("input text", ("x",), (*KEY, *TYPE)),
    Asked("input tap", ("--at", "1,1"), (*KEY, *TAP)),
    Asked("input tap", ("--text", "x"), (*KEY, *TAP, *LOOK)),
    Asked("input long-press", ("--at", "1,1"), (*KEY, "long_click")),
    Asked("input long-press", ("--at", "1,1", "--duration-ms", "99"), (*KEY, *TAP)),
    Asked("input swipe", ("--at", "1,1", "--to", "1,900"), (*KEY, *GO)),
    Asked("input swipe", ("--at", "1,1", "--to", "1,2"), (*KEY, *GO, *TAP)),
    Asked("input swipe", ("--at", "1,1", "--to", "1,1", "--duration-ms", "900"), (*KEY, *GO, *LONG)),
    Asked("input drag", ("--at", "1,1", "--to", "1,2"), (*KEY, *GO, *LONG)),
    Asked("app install", ("{folder}/app.apk",), APP),
    Asked("app uninstall", ("com.example",), APP),
    Asked("app uninstall", ("com.clawperator.operator",), SETUP),
    Asked("app clear", ("com.example",), APP),
    Asked("app start", ("com.example",), GO),
    Asked("app stop", ("com.example",), GO),
    Asked("app current", (), LOOK),
    Asked("app permissions", ("grant", "com.example", "CAMERA"), APP),
    Asked("device info", (), LOOK),
    Asked("device size", (), LOOK),
    Asked("device rotate", ("90",), KEY),
    Asked("device wake", (), KEY),
    Asked("device unlock-hint", (), LOOK),
    Asked("device logs", (), LOOK),
    Asked("sim reset", (), APP),
    Asked("snapshot", (), LOOK),
    Asked("screenshot", (), LOOK),
    Asked("screenshot", ("--path", "a.png"), FILE),
    Asked("click", ("--text", "x"), TAP),
    Asked("read", ("--text", "x"), LOOK),
    Asked("read-value", ("--label", "x"), LOOK),
    Asked("type", ("--id", "x:id/y", "--text", "x"), TYPE),
    Asked("wait", ("--text", "x"), LOOK),
    Asked("wait-for-nav", ("--app", "com.example", "--timeout", "1000"), GO),
    Asked("open", ("com.example",), GO),
    Asked("close", ("com.example",), GO),
    Asked("press", ("home",), (*KEY, *GO)),
    Asked("back", (), (*KEY, *GO)),
    Asked("scroll", ("down",), GO),
    Asked("scroll-until", ("--text", "x"), GO),
    Asked("scroll-and-click", ("--text", "x"), (*GO, *TAP)),
    Asked("sleep", ("1",), ()),
    Asked("query", (), LOOK),
    Asked("swipe", ("--at", "1,1", "--to", "1,900"), GO),
    Asked("swipe", ("--at", "1,1", "--to", "1,2"), (*GO, *TAP)),
    Asked("drag", ("--at", "1,1", "--to", "1,900"), (*GO, *LONG)),
    Asked("toast", ("x",), GO),
    Asked("on-screen-log set", ("x",), GO),
    Asked("on-screen-log clear", (), GO),
    Asked("notifications list", (), LOOK),
    Asked("notifications dismiss", ("key",), TAP),
    Asked("notifications action", ("key", "reply"), TAP),
    Asked("media list", (), LOOK),
    Asked("media status", ("--app", "a.b"), LOOK),
    Asked("media observe", (), LOOK),
    Asked("media pause", ("--app", "a.b"), TAP),
    Asked("media play", ("--app", "a.b"), TAP),
    Asked("media seek", ("1", "--app", "a.b"), TAP),
    Asked("record start", (), ("record",)),
    Asked("record stop", (), ("record",)),
    Asked("record pull", ("--out", "recordings"), ("record", *FILE)),
    Asked("record parse", ("--input", "{recording}"), FILE),
    Asked("record draft", ("--input", "{recording}"), FILE),
    Asked("record replay", ("--input", "{recording}"), GO),
    Asked("skills compile-artifact", (SKILL, "--artifact", "overview", "--registry", "builtin"), (*LOOK, *GO)),
    Asked("skills run", (SKILL, "--registry", "builtin"), ("run_skill",)),
    Asked("skills run", (SKILL, "--artifact", "overview", "--registry", "builtin"), (*LOOK, *GO)),
    Asked("skills lint", ("--all",), FILE),
    Asked("skills new", ("com.example.app.read", "--registry", "{registry}"), FILE),
    Asked("skills index", ("--registry", "{registry}"), FILE),
    Asked("skills install", (), FILE),
    Asked("skills update", (), FILE),
    Asked("skills sync", ("--ref", "main"), FILE),
    Asked("watch", ("--count", "1"), LOOK),
    Asked("history list", (), LOOK),
    Asked("history show", ("1",), LOOK),
    Asked("history export", (), LOOK),
    Asked("history export", ("--to", "{folder}/runs.jsonl"), FILE),
    Asked("history audit", (), LOOK),
    Asked("history prune", (), FILE),
    Asked("doctor", (), LOOK),
    Asked("doctor", ("--check-only",), LOOK),
    Asked("doctor", ("--fix",), SETUP),
    Asked("doctor", ("--full",), SETUP),
    Asked("doctor", ("--junit", "{folder}/doctor.xml"), FILE),
    Asked("operator status", (), LOOK),
    Asked("operator crash-log", (), LOOK),
    Asked("version", ("--check-compat",), LOOK),
    Asked("logs", ("--no-follow",), LOOK),
    Asked("operator setup", (), SETUP),
    Asked("operator install", (), SETUP),
    Asked("operator fetch", ("--from", "{dump}", "--sha256", "0" * 64), SETUP),
    Asked("grant-device-permissions", (), SETUP),
    Asked("emulator list", (), LOOK),
    Asked("emulator inspect", ("pixel",), LOOK),
    Asked("emulator status", (), LOOK),
    Asked("emulator create", (), AVD),
    Asked("emulator start", ("pixel",), AVD),
    Asked("emulator start", ("pixel", "--log", "{folder}/emulator.log"), FILE),
    Asked("emulator stop", ("pixel",), AVD),
    Asked("emulator delete", ("pixel", "--yes"), AVD),
    Asked("emulator provision", (), AVD),
    Asked("provision emulator", (), AVD),
    Asked("report", ("--to", "{folder}/report.zip"), (*LOOK, *FILE)),
)
DENIED = {"CAPABILITY_DENIED", "ACTION_DENIED", "PACKAGE_DENIED", "READ_ONLY"}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What command lines name, and a policy with a profile per capability that denies just that."""
    tables = "".join(
        f'[profiles.no-{name}.capabilities]\nallow = {list(CAPABILITIES)}\ndeny = ["{name}"]\n' for name in CAPABILITIES
    )
    policy = tmp_path / "policy.toml"
    policy.write_text(f"version = 1\n[profiles.default]\n{tables}[profiles.nothing.capabilities]\nallow = []\n")
    monkeypatch.setenv("CLAWPERATOR_POLICY", str(policy))
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    recording, dump = tmp_path / "small.ndjson", tmp_path / "dump.xml"
    recording.write_bytes(SMALL)
    dump.write_text('<hierarchy rotation="0"><node index="0" text="x" bounds="[0,0][1,1]"/></hierarchy>')
    avd = tmp_path / ".android" / "avd"
    avd.mkdir(parents=True)
    (avd / "pixel.ini").write_text(f"path={avd}/pixel.avd\n")
    registry = made_registry(tmp_path / "root", {"com.example.app.look": {"run.sh": "#!/bin/sh\n"}}).path
    return {"folder": str(folder), "recording": str(recording), "dump": str(dump), "registry": registry}


def test_every_command_has_a_row() -> None:
    assert set(COMMANDS) == {asked.words for asked in ASKED} | READS.keys() | SERVES


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_command_refuses_what_it_may_not(
    cli: Cli, places: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: Asked
) -> None:
    line = [*asked.words.split(), *(filled(word, places) for word in asked.arguments)]
    before = files(tmp_path)
    for capability in asked.needs:
        monkeypatch.setenv("CLAWPERATOR_POLICY_PROFILE", f"no-{capability}")
        refused = cli(*line)
        error = refused.document
        reported = (refused.exit_code, error.get("code"), error.get("details", {}).get("capability"))
        assert reported == (1, "CAPABILITY_DENIED", capability), error
    assert files(tmp_path) == before, "nothing was written but the audit and the log"


@pytest.mark.parametrize("asked", [asked for asked in ASKED if asked.needs], ids=str)
def test_a_profile_that_allows_nothing_allows_none_of_it(
    cli: Cli, places: dict[str, str], monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    monkeypatch.setenv("CLAWPERATOR_POLICY_PROFILE", "nothing")
    refused = cli(*asked.words.split(), *(filled(word, places) for word in asked.arguments))
    assert (refused.exit_code, refused.document["code"]) == (1, "CAPABILITY_DENIED"), refused.out


def filled(word: str, places: dict[str, str]) -> str:
    """``word`` with the places that it names."""
    for name, place in places.items():
        word = word.replace(f"{{{name}}}", place)
    return word


def files(folder: Path) -> set[str]:
    """All but the history and the log, which are there to be written."""
    own = (".log", ".db", ".db-wal", ".db-shm")
    return {str(path) for path in folder.rglob("*") if path.is_file() and path.suffix not in own}


@pytest.mark.parametrize("words", sorted(READS))
def test_what_only_reads_is_not_refused(
    cli: Cli, places: dict[str, str], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("CLAWPERATOR_POLICY_PROFILE", "nothing")
    run = cli(*words.split(), *(filled(word, places) for word in READS[words]))
    assert not any(code in run.out for code in DENIED), run.out
