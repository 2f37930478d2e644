"""The panes of mode 5: a list that is searched, an output that is followed, findings."""

from __future__ import annotations

from dataclasses import replace

from clawperator.engine.skills.describe import SkillEntry
from clawperator.engine.skills.run import OutputLine
from clawperator.widgets.format.lines import Row
from clawperator.widgets.models.skill_runs import OutputRing, SkillRunState
from clawperator.widgets.models.skills import LastResult, SkillsState
from clawperator.widgets.models.status import Status
from clawperator.widgets.skill_form import OneOf, choices_of, hidden
from clawperator.widgets.skill_list import SkillList
from clawperator.widgets.skill_output import FindingList, SkillOutput
from clawperator.widgets.text.times import WallClock
from tests.app.console.fake_skills import CARDS, ENTRIES, FINDINGS, MODE, NOON, NOTIFY, PRICE, TARGET
from tests.app.console.support import drained
from tests.widgets.pane_app import held, lines

CLOCK = WallClock(lambda: NOON + 10)
SHELF = SkillsState(skills=tuple(SkillEntry.of(entry) for entry in ENTRIES), known=True)


def run_of(count: int, *, number: int = 1, ring: OutputRing | None = None) -> SkillRunState:
    output = OutputRing() if ring is None else ring
    for index in range(count):
        output.add(OutputLine("stdout", f"line {index}", NOON + index))
    return SkillRunState(number=number, subject="a.b", kind="script x.py", since=NOON, output=output)


# -- the list


async def test_the_cursor_stays_with_its_skill_when_the_registry_changes() -> None:
    pane = SkillList(id="list")
    async with held(pane, size=(60, 10), clock=CLOCK) as (_, pilot):
        pane.show(SHELF)
        pane.to_skill(PRICE["id"])
        pane.show(replace(SHELF, skills=tuple(reversed(SHELF.skills))))
        await drained(pilot)
        assert pane.skill is not None
        assert pane.skill.id == PRICE["id"]


async def test_a_search_has_its_best_hit_under_the_cursor_and_says_so() -> None:
    pane = SkillList(id="list")
    async with held(pane, size=(60, 10), clock=CLOCK) as (app, pilot):
        pane.show(SHELF)
        await drained(pilot)
        app.reported.clear()
        pane.search("unit")
        await drained(pilot)
        assert pane.skill is not None
        assert pane.skill.id == PRICE["id"]
        assert app.reported == ["moved 0"]
        assert [line.strip(" ▌")[:5] for line in lines(app) if line.strip()] == ["com.e"]


async def test_failed_skills_are_marked_and_walked() -> None:
    pane = SkillList(id="list")
    async with held(pane, size=(60, 10), clock=CLOCK) as (_, pilot):
        pane.show(replace(SHELF, results={PRICE["id"]: LastResult(Status.FAILED, NOON)}))
        await drained(pilot)
        pane.to_problem(1)
        assert pane.cursor == 3
        pane.to_problem(1)
        assert pane.cursor == 3


async def test_five_thousand_skills_cost_no_more_than_what_is_seen() -> None:
    entries = [
        {**PRICE, "id": f"com.example.app{n}.read", "applicationId": f"com.example.app{n}"} for n in range(5_000)
    ]
    pane = SkillList(id="list")
    drawn: list[int] = []
    async with held(pane, size=(60, 10), clock=CLOCK) as (_, pilot):
        row = pane.row

        def noted(index: int, width: int) -> Row:
            drawn.append(index)
            return row(index, width)

        pane.row = noted  # type: ignore[method-assign]  # counts what is painted
        pane.show(SkillsState(skills=tuple(SkillEntry.of(entry) for entry in entries), known=True))
        await drained(pilot)
        pane.search("app4999")
        await drained(pilot)
        assert [skill.app for skill in pane.shown] == ["com.example.app4999"]
        assert len(drawn) < 50


# -- the output


async def test_the_newest_line_is_followed() -> None:
    pane = SkillOutput(id="output")
    async with held(pane, size=(60, 8), clock=CLOCK) as (app, pilot):
        run = run_of(20)
        pane.show(run)
        await drained(pilot)
        assert "line 19" in lines(app)[-1]
        assert lines(app)[0].startswith(" ● 10.0 s  script x.py")
        run_of(5, ring=run.output)
        pane.show(replace(run, printed=25))
        await drained(pilot)
        assert "line 4" in lines(app)[-1]


async def test_moving_up_keeps_the_lines_still_until_f() -> None:
    pane = SkillOutput(id="output")
    async with held(pane, size=(60, 8), clock=CLOCK) as (app, pilot):
        run = run_of(20)
        pane.show(run)
        await drained(pilot)
        await pilot.press("k")
        assert not pane.following
        before = lines(app)[1:]
        run_of(30, ring=run.output)
        pane.show(replace(run, printed=50))
        await drained(pilot)
        after = lines(app)[1:]
        assert [line[:20] for line in after] == [line[:20] for line in before]
        assert "PAUSED" in lines(app)[0]
        await pilot.press("f")
        await drained(pilot)
        assert pane.following
        assert "line 29" in lines(app)[-1]


async def test_lines_that_go_do_not_move_those_that_are_read() -> None:
    pane = SkillOutput(id="output")
    async with held(pane, size=(60, 8), clock=CLOCK) as (app, pilot):
        run = run_of(100, ring=OutputRing(lines=100))
        pane.show(run)
        await drained(pilot)
        pane.move_to(60)
        await drained(pilot)
        before = lines(app)[1:]
        run_of(10, ring=run.output)
        pane.show(replace(run, printed=110))
        await drained(pilot)
        assert run.output.first
        assert [line[:18] for line in lines(app)[1:]] == [line[:18] for line in before]


async def test_the_end_is_reported_below_the_last_line() -> None:
    pane = SkillOutput(id="output")
    async with held(pane, size=(60, 14), clock=CLOCK) as (app, pilot):
        run = run_of(2)
        pane.show(run)
        await drained(pilot)
        ended = replace(run, exit_code=3).over(
            Status.FAILED, "Skill a.b exited with code 3", NOON + 5, code="SKILL_EXECUTION_FAILED"
        )
        pane.show(ended)
        await drained(pilot)
        shown = "\n".join(lines(app))
        assert " ✗ exit 3" in shown
        assert "SKILL_EXECUTION_FAILED" in shown
        pane.show(run_of(1, number=2))
        await drained(pilot)
        assert "SKILL_EXECUTION_FAILED" not in "\n".join(lines(app))


async def test_lines_that_mean_something_are_walked() -> None:
    ring = OutputRing()
    for stream, words in (
        ("stdout", "a"),
        ("stdout", "RESULT|a=1"),
        ("stdout", "b"),
        ("stderr", "boom"),
        ("stdout", "c"),
    ):
        ring.add(OutputLine(stream, words, NOON))  # type: ignore[arg-type]  # stdout and stderr
    pane = SkillOutput(id="output")
    async with held(pane, size=(60, 10), clock=CLOCK) as (_, pilot):
        pane.show(run_of(0, ring=ring))
        await drained(pilot)
        pane.to_problem(1)
        assert pane.text_of_row() == "RESULT|a=1"
        pane.to_problem(1)
        assert pane.text_of_row() == "boom"
        pane.to_problem(-1)
        assert pane.text_of_row() == "RESULT|a=1"


# -- findings


async def test_findings_are_walked_by_severity() -> None:
    pane = FindingList(id="findings")
    async with held(pane, size=(70, 16), clock=CLOCK) as (app, pilot):
        card = replace(CARDS[PRICE["id"]], findings=FINDINGS)
        pane.show(card, "")
        await drained(pilot)
        assert pane.finding == 0
        pane.to_problem(1)
        assert pane.finding == 1
        pane.to_problem(1)
        assert pane.finding == 0
        assert "1 error" in lines(app)[0]
        await pilot.resize_terminal(70, 4)
        await pilot.press("end")
        assert pane.finding == len(FINDINGS) - 1
        await drained(pilot)
        assert FINDINGS[-1].message in lines(app)[-1], "its text is shown with it"
        pane.show(replace(card, findings=()), "")
        await drained(pilot)
        assert "No findings." in "\n".join(lines(app))


# -- the form


async def test_a_choice_without_a_default_is_no_ones() -> None:
    assert choices_of(TARGET._replace(type="boolean")) == ("", "true", "false")
    assert choices_of(MODE) == ("heat", "cool", "off")
    assert choices_of(NOTIFY) == ("", "true", "false")


async def test_a_choice_turns_by_key_and_by_mouse() -> None:
    choice = OneOf(["", "heat", "cool"])
    async with held(choice, size=(60, 3)) as (_, pilot):  # type: ignore[arg-type]  # a widget like a pane
        await pilot.press("space")
        assert choice.value == "heat"
        await pilot.press("left", "left")
        assert choice.value == "cool"
        await pilot.click(choice, offset=(9, 0))
        assert choice.value == "heat"


def test_personal_values_are_blotted_out_wherever_they_stand() -> None:
    shown = hidden({"executions": [{"text": "call Ann-Marie, Ann"}], "n": 3}, ["Ann-Marie", "Ann"])
    assert shown == {"executions": [{"text": "call •••, •••"}], "n": 3}
