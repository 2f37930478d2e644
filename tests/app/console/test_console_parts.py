"""Session, chips, terminal and clipboard: the console's parts without a screen."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.app.console import start, terminal
from clawperator.app.console.chips import header_chips, lock_time, snapshot_words
from clawperator.app.console.clipboard import OSC52_LIMIT, SystemClipboard
from clawperator.app.console.messages import DevicesUpdate, DoctorUpdate, LocksUpdate, SnapshotUpdate, StreamUpdate
from clawperator.app.console.session import TREES_KEPT, Facet, Session, TreeHistory
from clawperator.engine.contracts.limits import DOCTOR_SOURCE
from clawperator.engine.events.types import LogBatch
from clawperator.engine.hierarchy.tree import build
from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.header import Chip
from clawperator.widgets.models.doctor_report import DoctorReport
from clawperator.widgets.models.snapshot import TreeSnapshot
from tests.app.console.support import CHECKS_FAILED, DEVICE, NOON, PHONE, SECOND, MovableClock, log_lines
from tests.support import table


def session(**more: Any) -> Session:
    return Session(MovableClock().clock, **more)


def words(chips: list[Chip]) -> list[str]:
    return ["".join(text for text, _ in chip.spans) for chip in chips]


# -- session


def test_the_only_usable_device_is_the_choice_and_a_wanted_one_comes_first() -> None:
    known = session()
    known.absorb(DevicesUpdate((DEVICE, PHONE)))
    assert known.choice() == DEVICE.serial
    known.absorb(DevicesUpdate((DEVICE, SECOND)))
    assert known.choice() == "", "a person has to choose"
    wanting = session(wanted_device=SECOND.serial)
    wanting.absorb(DevicesUpdate((DEVICE, SECOND)))
    assert wanting.choice() == SECOND.serial
    wanting.absorb(DevicesUpdate((DEVICE,)))
    assert wanting.choice() == "", "another device is not what was asked for"


def test_of_two_serials_of_one_phone_the_preferred_one_is_the_choice() -> None:
    first = DEVICE._replace(other_transports=(SECOND.serial,), preferred=False)
    second = SECOND._replace(other_transports=(DEVICE.serial,), usb="1-4", transport_id=7)
    known = session()
    known.absorb(DevicesUpdate((first, second)))
    assert known.choice() == second.serial
    for name in ("usb:1-4", "transport_id:7"):
        wanting = session(wanted_device=name)
        wanting.absorb(DevicesUpdate((first, second)))
        assert wanting.choice() == second.serial


def test_a_lost_server_keeps_the_devices_but_says_so() -> None:
    known = session()
    known.absorb(DevicesUpdate((DEVICE,)))
    known.device_id = DEVICE.serial
    known.absorb(DevicesUpdate((DEVICE,), "connection refused"))
    assert known.adb_problem == "connection refused"
    assert known.gone_since == NOON


def test_a_tree_is_out_of_date_when_its_device_was_away_or_is_another_one() -> None:
    clock = MovableClock()
    known = Session(clock.clock)
    known.absorb(DevicesUpdate((DEVICE,)))
    known.device_id = DEVICE.serial
    known.absorb(SnapshotUpdate(TreeSnapshot(serial=1, device_id=DEVICE.serial, at=NOON, tree=build([]))))
    assert known.outdated(known.trees.shown) == ""
    clock.at += 5
    known.absorb(DevicesUpdate((DEVICE._replace(transport_id=9),)))
    assert known.outdated(known.trees.shown) == "the device was disconnected since"
    known.absorb(SnapshotUpdate(TreeSnapshot(serial=2, device_id=DEVICE.serial, at=NOON + 6, tree=build([]))))
    assert known.outdated(known.trees.shown) == ""


def test_a_tree_is_out_of_date_while_another_process_holds_the_device() -> None:
    known = session()
    known.device_id = DEVICE.serial
    known.absorb(SnapshotUpdate(TreeSnapshot(serial=1, device_id=DEVICE.serial, at=NOON, tree=build([]))))
    held = {"deviceId": DEVICE.serial, "pid": os.getpid() + 1, "commandId": "c", "source": "cli", "since": NOON + 1}
    known.absorb(LocksUpdate({DEVICE.serial: held}))
    assert known.outdated(known.trees.shown) == "another process uses the device"
    for quiet in ({"source": DOCTOR_SOURCE}, {"pid": os.getpid()}):
        known.absorb(LocksUpdate({DEVICE.serial: held | quiet}))
        assert known.outdated(known.trees.shown) == ""


def test_news_of_another_device_do_not_redraw_the_tree() -> None:
    known = session()
    known.device_id = DEVICE.serial
    assert known.absorb(SnapshotUpdate(TreeSnapshot(serial=1, device_id="other"))) is Facet.OTHERS
    assert known.absorb(SnapshotUpdate(TreeSnapshot(serial=2, device_id=DEVICE.serial))) is Facet.TREE


def test_the_operators_own_lines_are_kept_apart() -> None:
    known = session()
    known.absorb(StreamUpdate([LogBatch(device_id=DEVICE.serial, entries=tuple(log_lines(100)))]))
    assert (len(known.lines), len(known.lines.operator)) == (100, 10)
    assert known.lines_per_second == 20.0


def test_the_ring_of_trees_keeps_the_newest_and_the_place_of_who_looks_back() -> None:
    trees = TreeHistory()
    for serial in range(1, 11):
        trees.add(TreeSnapshot(serial=serial))
    trees.step(1)
    trees.step(1)
    assert trees.shown.serial == 8
    trees.add(TreeSnapshot(serial=11))
    assert trees.shown.serial == 8
    for serial in range(12, 12 + TREES_KEPT):
        trees.add(TreeSnapshot(serial=serial))
    assert len(trees) == TREES_KEPT
    assert trees.shown.serial == 12, "the oldest that is left, once its own has gone"
    while trees.step(-1):
        pass
    assert trees.shown.serial == trees.newest.serial == 61


# -- chips


def test_chips_from_nothing_to_everything() -> None:
    known = session()
    assert words(header_chips(known, UNICODE, narrow=False)) == ["◌ asking adb"]
    known.absorb(DevicesUpdate(()))
    assert words(header_chips(known, UNICODE, narrow=False)) == ["no device"]
    known.absorb(DevicesUpdate((DEVICE, SECOND)))
    assert words(header_chips(known, UNICODE, narrow=False)) == ["2 devices: D chooses"]
    known.device_id = DEVICE.serial
    known.absorb(DoctorUpdate(DoctorReport(checks=CHECKS_FAILED, device_id=DEVICE.serial, ended=NOON)))
    known.absorb(StreamUpdate([LogBatch(device_id=DEVICE.serial, entries=tuple(log_lines(300)))], 7))
    assert words(header_chips(known, UNICODE, narrow=False)) == [
        "emulator-5554 ✗", "○ free", "no tree", "✗ Not ready: the Operator did not answer", "⋮ 7 dropped", "60/s",
    ]  # fmt: skip
    assert words(header_chips(known, ASCII, narrow=True))[:4] == [
        "emulator-5554 [xx]",
        "[  ] free",
        "no tree",
        "[xx] Not ready",
    ]


@pytest.mark.parametrize(
    ("lock", "text"),
    [
        (
            {"state": "held", "commandId": "cmd-123", "source": "openclaw", "since": NOON - 4.1, "timeoutMs": 30_000},
            "● cmd-123 openclaw 4.1 s/30 s",
        ),
        ({"state": "held", "pid": 4312, "since": NOON - 1}, "● pid 4312 1.0 s"),
        ({"state": "settling", "notBefore": NOON + 1.4}, "◌ settling 1.4 s"),
    ],
)
def test_the_lock_says_who_and_how_long(lock: dict[str, Any], text: str) -> None:
    known = session()
    known.device_id = DEVICE.serial
    known.absorb(LocksUpdate({DEVICE.serial: lock}))
    assert words(header_chips(known, UNICODE, narrow=False))[1] == text


def test_lock_time_without_a_beginning_is_empty() -> None:
    assert lock_time({}, NOON) == ""


def test_a_trees_source_age_and_completeness_are_reported() -> None:
    known = session()
    known.device_id = DEVICE.serial
    assert snapshot_words(known, UNICODE).plain == ""
    seen = TreeSnapshot(
        serial=1, device_id=DEVICE.serial, source="stream", command_id="cmd-9", at=NOON - 42, tree=build([])
    )
    known.absorb(SnapshotUpdate(replace(seen, complete=False)))
    assert snapshot_words(known, UNICODE).plain == "stream cmd-9 22:28:18 incomplete"


# -- terminal


@table(
    ("env", "theme"),
    [
        ({}, "claw-dark"),
        ({"COLORFGBG": "0;15"}, "claw-light"),
        ({"COLORFGBG": "15;0"}, "claw-dark"),
        ({"NO_COLOR": "1"}, "claw-mono"),
        ({"NO_COLOR": ""}, "claw-dark"),
        ({"TERM": "linux"}, "claw-mono"),
        ({"TERM": "xterm-mono"}, "claw-mono"),
        ({"TERM": "vt320"}, "claw-mono"),
        ({"TERM": "xterm-256color"}, "claw-dark"),
        ({"TERM": "linux", "COLORTERM": "truecolor"}, "claw-dark"),
    ],
)
def test_the_theme_that_fits_a_terminal(env: dict[str, str], theme: str) -> None:
    assert terminal.choose_look(env, theme=None, ascii_only=None, encoding="utf-8").theme == theme


@table(
    ("env", "colours"),
    [
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(379)"}, "truecolor"),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(379)", "TEXTUAL_COLOR_SYSTEM": "256"}, "256"),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(379)", "COLORTERM": "truecolor"}, None),
        ({"TERM": "xterm"}, None),
        ({"TERM": "screen", "XTERM_VERSION": "XTerm(379)", "STY": "1.pts"}, None),
        ({"TERM": "xterm-16color", "XTERM_VERSION": "XTerm(379)"}, None),
    ],
)
def test_the_colours_that_an_xterm_has(env: dict[str, str], colours: str | None) -> None:
    terminal.prepare(env)
    assert env.get("TEXTUAL_COLOR_SYSTEM") == colours


def test_what_was_asked_for_wins_but_over_no_colour() -> None:
    assert terminal.choose_look({}, theme="dracula", ascii_only=None, encoding="utf-8").theme == "dracula"
    assert (
        terminal.choose_look({"NO_COLOR": "1"}, theme="dracula", ascii_only=None, encoding="utf-8").theme == "claw-mono"
    )


@pytest.mark.parametrize(
    ("encoding", "needs"),
    [("utf-8", False), ("UTF8", False), ("ANSI_X3.4-1968", True), ("latin-1", True), ("no such", True)],
)
def test_ascii_where_the_locale_has_nothing_else(encoding: str, needs: bool) -> None:
    assert terminal.choose_look({}, theme=None, ascii_only=None, encoding=encoding).ascii is needs
    assert terminal.choose_look({}, theme=None, ascii_only=not needs, encoding=encoding).ascii is not needs


def test_without_a_terminal_it_refuses_with_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Settings:
        device_id = ""

    assert start.run(Settings()) == 1  # type: ignore[arg-type]  # not looked at
    assert capsys.readouterr().err == "the console needs a terminal; try `clawperator observe snapshot`\n"
    assert terminal.refuses({"TERM": "dumb"}, interactive=True)
    assert not terminal.refuses({"TERM": "xterm"}, interactive=True)


# -- clipboard


async def test_osc52_and_a_private_file(tmp_path: Path) -> None:
    sent: list[str] = []
    file = tmp_path / "console" / "last-copy"
    way = await SystemClipboard(sent.append, file, {"SSH_CONNECTION": "1"}).copy("Wi‑Fi\x1b[31m")
    assert sent == ["Wi‑Fi\x1b[31m"]
    assert file.read_text(encoding="utf-8") == "Wi‑Fi\x1b[31m"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert way == f" by OSC 52. Not in your clipboard? It is in {file}"


async def test_too_much_goes_to_the_file_only(tmp_path: Path) -> None:
    sent: list[str] = []
    way = await SystemClipboard(sent.append, tmp_path / "last-copy", {"SSH_CONNECTION": "1"}).copy(
        "x" * (OSC52_LIMIT + 1)
    )
    assert sent == []
    assert "only: too long" in way


async def test_a_tool_of_the_desktop_comes_first(tmp_path: Path) -> None:
    tool = tmp_path / "wl-copy"
    tool.write_text(f"#!/bin/sh\ncat > {tmp_path}/pasted\n", encoding="utf-8")
    tool.chmod(0o755)
    sent: list[str] = []
    env = {"WAYLAND_DISPLAY": "wayland-0", "PATH": f"{tmp_path}{os.pathsep}{os.defpath}"}
    way = await SystemClipboard(sent.append, tmp_path / "last-copy", env).copy("hello")
    assert (tmp_path / "pasted").read_text(encoding="utf-8") == "hello"
    assert sent == []
    assert way == " by wl-copy"


async def test_a_full_disk_costs_the_file_not_the_copy(tmp_path: Path) -> None:
    sent: list[str] = []
    way = await SystemClipboard(sent.append, Path("/dev/full/x"), {"SSH_CONNECTION": "1"}).copy("hello")
    assert sent == ["hello"]
    assert way == " by OSC 52"
