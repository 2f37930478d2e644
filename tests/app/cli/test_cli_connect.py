"""``console --connect``: what is refused before anything is drawn, and that it opens although nobody answers yet."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

import pytest

import clawperator.app
from clawperator.app import client as remote
from clawperator.app.cli.commands import console
from clawperator.app.installation import install_command
from clawperator.engine.config.settings import Settings
from tests.app.cli.conftest import Cli
from tests.app.cli.test_cli_terminals import Terminal, terminal  # noqa: F401 -- a fixture


@pytest.fixture(autouse=True)
def in_front_of_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "has_terminal", lambda: True)


def test_a_terminal_without_a_cursor_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said that there was no terminal."""
    monkeypatch.setattr(console, "has_terminal", lambda: False)
    monkeypatch.setattr(console, "_on_terminal", lambda: True)
    run = cli("console")
    assert run.exit_code == 1
    assert "needs a terminal that can move the cursor: TERM is dumb" in run.out + run.err


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--token-file", "t"], "USAGE", "--token-file requires --connect"),
        (["--connect", "ftp://host"], "USAGE", "--connect: invalid server address: 'ftp://host'"),
        (["--connect", "http://me:secret@host"], "USAGE", "--connect: an address must not contain a password"),
        (["--connect", "host", "--token-file", "nowhere"], "FILE_NOT_READABLE", "--token-file nowhere cannot be read"),
        (
            ["--connect", "host", "--no-history"],
            "USAGE",
            "--no-history cannot be used with --connect: the computer of the devices keeps the history",
        ),
        (["--connect", "host", "--snapshot", "dump.xml"], "USAGE", "use --snapshot OR --connect, not both"),
    ],
)
def test_what_makes_no_sense_is_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], code: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.xml").write_text("<hierarchy/>", encoding="utf-8")
    run = cli("console", *flags)
    assert run.exit_code == 1
    error = json.loads(run.err or run.out)
    assert error["code"] == code
    assert error["message"].startswith(words)
    assert "secret" not in run.err + run.out


def test_without_the_extra_it_says_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    # All of them are there before, so that all are as they were afterwards: an import also sets an attribute of the package above.
    names = [f"{remote.__name__}.{module.name}" for module in pkgutil.iter_modules(remote.__path__)]
    for name in names:
        importlib.import_module(name)
    monkeypatch.setattr(clawperator.app, "client", remote)
    for name in (remote.__name__, *names):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx", None)
    run = cli("console", "--connect", "host")
    error = json.loads(run.err or run.out)
    assert (run.exit_code, error["code"]) == (1, "HOST_DEPENDENCY_MISSING")
    assert error["hint"] == f"Install it: {install_command('server')}"


def test_the_flags_reach_the_console_and_a_browsers_pages(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def connect(url: str, token_file: str, settings: Settings, _: object) -> int:
        asked.append((url, token_file, settings.device_id, settings.read_only))
        return 0

    monkeypatch.setattr("clawperator.app.console.start.connect", connect)
    flags = ("--connect", "host:3000", "--token-file", "t", "--device-id", "emulator-5554", "--read-only")
    assert cli("console", *flags).exit_code == 0
    assert asked == [("host:3000", "t", "emulator-5554", True)]
    served: list[list[str]] = []
    monkeypatch.setattr("clawperator.app.console.web.serve", lambda command, *_: served.append(command))
    assert cli("console", *flags, "--web").exit_code == 0
    assert {"--connect=host:3000", "--token-file=t", "--device-id=emulator-5554", "--read-only"} <= set(served[0])


def test_it_opens_although_no_one_answers_yet(terminal: Terminal, lonely: dict[str, str]) -> None:  # noqa: F811
    url = f"http://127.0.0.1:{lonely['ANDROID_ADB_SERVER_PORT']}"
    shown = terminal("console", "--connect", url, press=b"\x11", when=b"The device list is unavailable")
    assert shown.exit_code == 0
