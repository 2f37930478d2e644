"""The settings file and the flags: how the console is to be, and who says so."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.commands.console import _flags, has_terminal
from clawperator.app.cli.parsing.parser import read
from clawperator.app.console import terminal
from clawperator.app.console.preferences import DEFAULTS, Preferences, resolve
from clawperator.engine.config.settings_file import SettingsFile, examine


def file_of(text: str) -> SettingsFile:
    settings, problems = examine(text)
    assert settings is not None, problems
    return settings


def chosen(text: str = "", **flags: Any) -> Preferences:
    return resolve(
        file_of(text), **{"theme": None, "ascii_only": False, "pictures": None, "themes": "", "served": False, **flags}
    )


def test_who_says_nothing_gets_what_fits() -> None:
    assert chosen() == DEFAULTS


def test_the_file_says_everything() -> None:
    text = """
    [console]
    theme = "midnight"
    ascii = "always"
    pictures = "off"
    mouse = false
    bell = true
    settle_ms = 50
    stream_lines = 5000
    [keymap]
    app.help = "f1"
    """
    assert chosen(text, themes="/themes") == Preferences(
        "midnight",
        True,
        "off",
        mouse=False,
        bell=True,
        settle_ms=50,
        stream_lines=5000,
        keymap={"app.help": "f1"},
        themes="/themes",
    )


def test_flags_win_over_the_file() -> None:
    text = "[console]\ntheme = 'midnight'\nascii = 'never'\npictures = 'off'"
    assert chosen(text).ascii is False
    won = chosen(text, theme="claw-light", ascii_only=True, pictures="blocks")
    assert (won.theme, won.ascii, won.pictures) == ("claw-light", True, "blocks")


def test_a_browser_has_no_graphics_of_a_terminal() -> None:
    assert chosen("[console]\npictures = 'kitty'", served=True).pictures == "blocks"
    assert chosen(pictures="sixel", served=True).pictures == "blocks"
    assert chosen(pictures="off", served=True).pictures == "off"


def options(*arguments: str) -> SimpleNamespace:
    return read(build_parser(load("console")), "console", arguments)


def test_a_page_gets_the_flags_that_were_given_but_for_the_server_s() -> None:
    given = options(
        "--web", "--port", "8080", "--theme", "claw-light", "--ascii", "--read-only", "--no-history", "--device-id", "a b",
        "--operator-package", "x.y", "--pictures", "off",
    )  # fmt: skip
    assert given.port == 8080
    assert _flags([], given) == [
        "--device-id=a b", "--receiver-package=x.y", "--theme=claw-light", "--pictures=off", "--ascii", "--read-only", "--no-history",
    ]  # fmt: skip
    assert _flags(["a.xml", "b.xml"], options("--web", "--snapshot", "a.xml", "b.xml")) == [
        "--snapshot",
        "a.xml",
        "b.xml",
    ]
    again = options(*_flags([], given))
    assert (again.web, again.read_only, again.device_id, again.receiver_package) == (False, True, "a b", "x.y")


def test_a_page_is_a_terminal_whatever_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"TEXTUAL_DRIVER": terminal.WEB_DRIVER, "TERM": "dumb"}
    assert terminal.served(env)
    assert not terminal.refuses(env, interactive=False)
    assert not terminal.served({"TEXTUAL_DRIVER": "other"})
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    assert not has_terminal()
    monkeypatch.setenv("TEXTUAL_DRIVER", terminal.WEB_DRIVER)
    assert has_terminal()


@pytest.mark.parametrize("way", ["pipe", "socket"])
def test_a_console_leaves_when_no_one_can_write_to_it(way: str) -> None:
    """In a process of its own, because it is about standard input and signals. What was written first is left to others."""
    script = (
        "import os, signal, sys, threading; from clawperator.app.console.web_page import leave_with_server;"
        "asked = threading.Event(); signal.signal(signal.SIGTERM, lambda *_: asked.set()); leave_with_server();"
        "print('up', flush=True); asked.wait(20); sys.exit(7 if os.read(0, 10) == b'key' else 1)"
    )
    if way == "pipe":
        theirs, ours = os.pipe()
    else:
        left, right = socket.socketpair()
        theirs, ours = left.detach(), right.detach()
    child = subprocess.Popen([sys.executable, "-c", script], stdin=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    os.write(ours, b"key")
    assert child.poll() is None
    os.close(ours)
    assert child.wait(20) == 7
    child.stdout.close()
