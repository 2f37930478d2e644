"""The doctor's rows, its detail and the fix log: what they say, at any width, of anything."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.progress import Stage
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.fix_log import FixLog
from clawperator.widgets.format.checks import check_detail, check_row, fix_text, shell_text, short_name, tally_line
from clawperator.widgets.format.fix_lines import fix_log_rows
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.models.doctor_report import Check, DoctorReport, id_of
from clawperator.widgets.models.fix_run import STAGES_KEPT, FixRun
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.text.safe import cells
from tests.app.console.support import (
    CHECK_IDS,
    CHECKS_FAILED,
    CHECKS_NO_SERVER,
    CHECKS_OFF,
    CHECKS_OK,
    CHECKS_ON,
    GRANT,
    LOOK,
    NOON,
    MovableClock,
    check,
    drained,
)
from tests.support import examples, table
from tests.widgets.pane_app import held, lines

CRITICAL = frozenset({"host.adb.server", "device.discovery", "readiness.handshake"})


def plain(rows: Any) -> list[str]:
    return [row_text(row) for row in rows]


def row_text(row: Row) -> str:
    return f"{row.left.plain}|{row.right.plain if row.right else ''}"


def report(**more: Any) -> DoctorReport:
    return DoctorReport(ids=CHECK_IDS, critical=CRITICAL, stopping=CRITICAL, **more)


# -- rows


@table(
    ("check_id", "name"),
    [
        ("readiness.settings.usb_debugging", "usb debugging"),
        ("build.android.assemble", "assemble"),
        ("host.adb.server", "adb server"),
        ("readiness.handshake", "handshake"),
        ("odd", "odd"),
        ("", ""),
    ],
)
def test_an_id_in_words(check_id: str, name: str) -> None:
    assert short_name(check_id) == name


@pytest.mark.parametrize(
    ("found", "width", "text"),
    [
        (CHECKS_OK[3], 60, " ✓ adb is there|36.0.0 0.0 s "),
        (CHECKS_OK[0], 60, " ✓ Python 3.11.4|"),
        (CHECKS_OK[3], 40, " ✓ adb is there|"),
        (CHECKS_FAILED[-1], 80, " ✗ The Operator did not answer|RESULT_ENVELOPE_TIMEOUT    7.0 s "),
        ({"id": "readiness.handshake", "status": "waiting"}, 60, " ◌ handshake  waiting|"),
        ({"id": "readiness.handshake", "status": "running"}, 60, " ● handshake  checking…|"),
        ({"id": "a.b", "status": "skipped", "stopper": "host.adb.server"}, 60, " – b  not run (adb server)|"),
        ({"id": "a.b", "status": "skipped", "stopper": ""}, 60, " – b  not run|"),
        ({"id": "a.b", "status": "pass", "summary": "x", "evidence": {"held": False, "n": 7}, "durationMs": 61_000}, 60, " ✓ x| 1 min "),
        ({"id": "a.b", "status": "pass", "durationMs": 10**15}, 60, " ✓ a.b|"),
        ({"id": "a.b", "status": "no such state"}, 60, " ? a.b|"),
    ],
)  # fmt: skip
def test_rows(found: dict[str, Any], width: int, text: str) -> None:
    assert row_text(check_row(found, width)).split() == text.split()


def test_the_tally_has_the_counts_of_the_verdict() -> None:
    found = report(checks=CHECKS_NO_SERVER)
    assert tally_line(found).plain == "✗ 1 failed · 3 ok"
    assert tally_line(found, ASCII, whole=True).plain == "[xx] 1 failed - 3 ok - 8 not run - 1 optional"
    assert tally_line(report(checks=())).plain == ""


def test_what_only_some_skills_need_is_neither_a_hint_nor_ok() -> None:
    found = DoctorReport(checks=(*CHECKS_ON, check("stock.programs", "fail", "input is missing")))
    assert (found.verdict().summary, found.problems) == ("Ready", [])
    assert tally_line(found, whole=True).plain == f"{len(CHECKS_ON) - 1} ok · 1 optional"
    assert {name: len(rows) for name, rows in found.grouped()}["optional"] == 1


def test_the_line_beside_the_verdict_does_not_repeat_its_hints() -> None:
    found = report(checks=(*CHECKS_ON, check("host.adb.other", "warn", "2 adb servers")))
    assert found.verdict().summary == "Ready, 1 hint"
    assert tally_line(found).plain == f"1 hint · {len(CHECKS_ON) - 1} ok"
    assert tally_line(found, whole=True).plain == f"{len(CHECKS_ON) - 1} ok · 1 optional"
    assert "1 hint" in tally_line(replace(found, stopped=True), whole=True).plain  # the verdict is not shown then


# -- the detail


def test_what_a_machine_can_do_is_marked() -> None:
    text = "\n".join(plain(check_detail(CHECKS_OFF[-1], 60, critical=True, runnable={GRANT})))
    assert "   check  readiness.handshake  critical|" in text
    assert "   state  failed in 7.0 s" in text
    assert " 1. ▸ clawperator grant-device-permissions" in text
    assert " 2. $ clawperator observe snapshot" in text
    assert " ▸ F run · y l copy the steps · v check again" in text
    text = "\n".join(plain(check_detail(CHECKS_OFF[-1], 60, ASCII)))
    assert "▸" not in text
    assert "F runs it" not in text
    assert "advisory" in text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "a.b", "status": "running"}, "This check is running."),
        ({"id": "a.b", "status": "waiting"}, "This check is waiting for the ones before it."),
        ({"id": "a.b", "status": "skipped", "stopper": "host.adb.server"}, "because adb server does not pass"),
        ({"id": "a.b", "status": "skipped"}, "the run ended before"),
    ],
)
def test_what_has_no_result_says_why(row: dict[str, Any], words: str) -> None:
    assert words in "\n".join(plain(check_detail(row, 90)))


def test_evidence_is_keys_and_values() -> None:
    evidence = {"devices": ["a", "b"], "nested": {"x": [1]}, "lines": "one\ntwo", "none": None, "long" * 9: "v"}
    text = plain(check_detail(check("a.b", "pass", "x", evidence=evidence), 60))
    rows = [row.rstrip("|").split(maxsplit=1) for row in text[text.index(" evidence|") + 1 :]]
    assert rows == [
        ["devices", "a, b"], ["nested", '{"x": [1]}'], ["lines", "one"], ["two"], ["none", "null"],
        [f"{('long' * 9)[:25]}…", "v"],
    ]  # fmt: skip
    many = check("a.b", "pass", "x", evidence={str(number): number for number in range(200)})
    assert plain(check_detail(many, 60))[-1] == "   140 more|"


def test_what_there_is_to_do_as_text() -> None:
    assert shell_text(CHECKS_OFF[-1]) == f"{GRANT}\n{LOOK}"
    assert fix_text({"deviceGuidance": {"steps": ["a", "b"]}}) == "a\nb"
    assert fix_text(CHECKS_OK[0]) == shell_text(CHECKS_OK[1]) == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from(
    ["id", "status", "code", "summary", "detail", "fix", "deviceGuidance", "evidence", "durationMs", "stopper"]
)
odd_checks = st.dictionaries(keys, json_values, max_size=8) | st.builds(
    lambda fix, guidance, status: {"id": "a.b", "status": status, "fix": fix, "deviceGuidance": guidance},
    st.fixed_dictionaries({"title": json_values, "steps": json_values, "docsUrl": json_values}),
    st.fixed_dictionaries({"screen": json_values, "steps": json_values}),
    st.sampled_from(["pass", "fail", "running", "skipped"]),
)


@settings(max_examples=examples(150), deadline=None)
@given(odd_checks, st.integers(10, 120), st.sampled_from([UNICODE, ASCII]))
def test_anything_can_be_drawn(found: dict[str, Any], width: int, symbols: Any) -> None:
    rows = [check_row(found, width, symbols), *check_detail(found, width, symbols)]
    for row in rows:
        text = row.left.plain
        assert cells(text) == row.left.cells
        assert not any(character < " " or character == "\u202e" for character in text)
    assert isinstance(fix_text(found), str)


@settings(max_examples=60, deadline=None)
@given(st.lists(odd_checks, max_size=6))
def test_any_report_has_its_rows(checks: list[dict[str, Any]]) -> None:
    whole = report().begun(CHECK_IDS)
    for found in checks:
        whole = whole.took(found)
    rows = whole.over(NOON).rows()
    assert {str(row.get("id", "")) for row in rows} == {*CHECK_IDS, *(str(found.get("id", "")) for found in checks)}
    assert sum(len(members) for _, members in whole.grouped()) == len(rows)


# -- the fix log


def a_fix(**more: Any) -> FixRun:
    return FixRun(check_id="readiness.handshake", step=GRANT, preview=("adb shell id", "adb shell true"), **more)


def test_the_log_tells_commands_stages_and_words() -> None:
    fix = a_fix(state="ok", output="granted\nall", began=NOON - 3, ended=NOON - 1)
    fix = fix.with_stage(Stage("fix", "install_app", "running", 400.0, fraction=0.42, message="streaming"))
    text = plain(fix_log_rows([fix], 50, MovableClock().clock))
    assert text == [
        " ✓ handshake|22:28:57 2.0 s ",
        "   $ adb shell id|",
        "   $ adb shell true|",
        "   ● install app 42% streaming|0.4 s ",
        "     granted|",
        "     all|",
    ]


@table(
    ("fix", "words"),
    [
        (a_fix(), "waiting for the previous fix"),
        (a_fix(state="running", began=NOON), "running · C stop"),
        (a_fix(state="stopped"), "stopped: changes made so far remain"),
        (a_fix(state="ok"), "done, no output"),
        (a_fix(state="failed", output=" \n"), "failed, no output"),
        (a_fix(state="ok", output="x\n" * 300), "100 more lines"),
    ],
)
def test_the_last_line_of_a_fix(fix: FixRun, words: str) -> None:
    assert words in plain(fix_log_rows([fix], 60, MovableClock().clock))[-1]


def test_a_stage_is_one_line_however_often_it_is_reported() -> None:
    fix = a_fix()
    for number in range(5):
        fix = fix.with_stage(Stage("fix", "install", "running", fraction=number / 5)).with_stage(
            Stage("fix", "verify", "running")
        )
    assert [(stage.name, stage.fraction) for stage in fix.stages] == [("install", 0.8), ("verify", None)]
    for number in range(100):
        fix = fix.with_stage(Stage("fix", f"stage {number}", "done"))
    assert len(fix.stages) == STAGES_KEPT


async def test_the_log_stays_with_its_newest_line() -> None:
    clock = MovableClock()
    pane = FixLog()
    async with held(pane, size=(60, 8), clock=clock.clock) as (app, pilot):
        assert "No fix ran yet." in "\n".join(lines(app))
        pane.show([a_fix(state="running", began=NOON, output="\n".join(f"line {number}" for number in range(40)))])
        await drained(pilot)
        assert "running · C stop" in lines(app)[-1]
        clock.at += 5
        pane.tick()
        await drained(pilot)
        assert "running · C stop" in lines(app)[-1]
        await pilot.press("home")
        await drained(pilot)
        assert "5.0 s" in lines(app)[0]
        await pilot.resize_terminal(40, 6)
        await drained(pilot)
        assert "running · C stop" in lines(app)[-1]


# -- the list


async def test_the_cursor_stays_with_its_check_while_results_come() -> None:
    pane = DoctorPanel()
    async with held(pane, size=(70, 20)) as (app, pilot):
        whole = report().begun(CHECK_IDS)
        pane.show(whole)
        assert pane.to_value("readiness.handshake")
        assert not pane.to_value("no.such")
        for found in CHECKS_FAILED:
            whole = whole.took(found)
            pane.show(whole)
            assert pane.value == "readiness.handshake"
        pane.show(whole.over(NOON))
        await drained(pilot)
        assert pane.check == CHECKS_FAILED[-1]
        assert [row.strip() for row in lines(app) if row.strip() in ("critical", "advisory")] == [
            "critical",
            "advisory",
        ]
        await pilot.press("right_square_bracket")
        assert pane.value == "host.node.version"
        pane.show(DoctorReport(problem="adb was not found"))
        await drained(pilot)
        assert "✗ adb was not found" in "\n".join(lines(app))


async def test_the_detail_keeps_its_place_while_its_check_stays() -> None:
    pane = WrappedText(empty="Select a check.")

    def show(check: Check) -> None:
        pane.show_text(partial(check_detail, check), id_of(check))

    async with held(pane, size=(40, 6)) as (app, pilot):
        show(CHECKS_FAILED[-1])
        await pilot.press("end")
        await drained(pilot)
        top = pane.top
        assert top > 0
        show({**CHECKS_FAILED[-1], "durationMs": 12})
        assert pane.top == top
        show(CHECKS_OK[1])
        assert pane.top == 0
        pane.show_text(lambda _width: ())
        await drained(pilot)
        assert "Select a check." in "\n".join(lines(app))
