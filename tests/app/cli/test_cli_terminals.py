"""What people at a terminal get and pipes do not: colours, and the console instead of the help."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.support import CLI, end, patience

if TYPE_CHECKING:
    from tests.app.cli.conftest import ProcessCli

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")


class Shown(NamedTuple):
    exit_code: int
    text: str


Terminal = Callable[..., Shown]


@pytest.fixture
def terminal(lonely: dict[str, str]) -> Iterator[Terminal]:
    """``terminal(*arguments, press=…, when=…, env=…)``: run on a terminal; press keys as soon as some text was drawn."""
    children: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str, press: bytes = b"", when: bytes = b"", env: dict[str, str] | None = None) -> Shown:
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "", **(env or {})}
        child = subprocess.Popen([*CLI, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        children.append(child)
        os.close(theirs)
        shown = b""
        deadline = time.monotonic() + patience(30)
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    data = os.read(ours, 65536)
                except OSError:  # Linux's way of saying that nobody holds the other end any more
                    break
                if not data:
                    break
                shown += data
            if press and when in shown:
                os.write(ours, press)
                press = b""
        os.close(ours)
        return Shown(child.wait(timeout=patience(10)), shown.decode(errors="replace"))

    yield run
    for child in children:
        end(child)


def test_errors_are_coloured_for_eyes_only(terminal: Terminal) -> None:
    shown = terminal("bogus", "--output", "pretty")
    assert shown.exit_code == 1
    assert "\x1b[1;31mUNKNOWN_COMMAND" in shown.text
    assert "\x1b[1;31m" not in terminal("bogus", "--output", "pretty", env={"NO_COLOR": "1"}).text


def test_json_stays_json_on_a_terminal(terminal: Terminal) -> None:
    shown = terminal("version")
    assert shown.text.startswith('{"cliVersion":')
    assert "\x1b" not in shown.text


def test_the_settings_choose_the_format_of_terminals_where_no_flag_does(
    terminal: Terminal, process: ProcessCli, lonely: dict[str, str]
) -> None:
    folder = Path(lonely["XDG_CONFIG_HOME"]) / "clawperator"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text('[output]\nterminal = "pretty"\n')
    assert terminal("bogus").text.startswith("\x1b[1;31mUNKNOWN_COMMAND")
    assert terminal("bogus", "--json").text.startswith('{"code":')
    assert process("bogus").out.startswith('{"code":'), "not on a terminal"


def test_help_is_coloured(terminal: Terminal) -> None:
    shown = terminal("packages", "list", "--help")
    assert shown.exit_code == 0
    assert "\x1b[" in shown.text
    assert "[--third-party]" in shown.text


def test_no_command_on_a_dumb_terminal_is_the_help(terminal: Terminal) -> None:
    shown = terminal(env={"TERM": "dumb"})
    assert shown.exit_code == 0
    assert shown.text.startswith("clawperator drives Android devices")


def test_no_command_on_a_terminal_is_the_console(terminal: Terminal) -> None:
    shown = terminal(press=b"\x11", when=b"Inspect")
    assert "\x1b[?1049h" in shown.text
    assert shown.exit_code == 0


def test_an_xterm_gets_its_24_bit_colours(terminal: Terminal) -> None:
    xterm = {"TERM": "xterm", "COLORTERM": "", "XTERM_VERSION": "XTerm(379)"}
    assert "\x1b[38;2;" in terminal(press=b"\x11", when=b"Inspect", env=xterm).text


def test_the_demo_on_a_terminal_is_the_console_on_a_simulated_device(terminal: Terminal) -> None:
    shown = terminal("demo", press=b"\x11", when=b"emulator-5554")
    assert "\x1b[?1049h" in shown.text
    assert shown.exit_code == 0


def test_a_theme_that_does_not_exist(terminal: Terminal) -> None:
    shown = terminal("console", "--theme", "nope")
    assert shown.exit_code == 1
    assert '"code":"USAGE","message":"Unknown theme: nope"' in shown.text
