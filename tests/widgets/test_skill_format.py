"""Skills as rows: ids that do not fit, cards of every kind, and Markdown that somebody hostile wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.skills.describe import SkillDetails, SkillEntry, SkillIssue
from clawperator.engine.skills.run import OutputLine
from clawperator.widgets.format.draft import plan_rows
from clawperator.widgets.format.jobs import outcome_rows
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.markdown import MOST_LINES, markdown_rows
from clawperator.widgets.format.skill_output import output_row, run_row
from clawperator.widgets.format.skills import card_rows, findings_rows, skill_row, summary_line
from clawperator.widgets.format.symbols import ASCII
from clawperator.widgets.models.skill_runs import OutputRing, SkillRunState
from clawperator.widgets.models.skills import LastResult, SkillsState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells
from clawperator.widgets.text.times import WallClock
from tests.app.console.fake_skills import (
    ALERT,
    CARDS,
    ENTRIES,
    FINDINGS,
    NOON,
    PRICE,
    SETTINGS,
    TEXT,
    THERMOSTAT,
    an_execution,
)

CLOCK = WallClock(lambda: NOON)
HOSTILE = "[red]x[/]\x1b]0;owned\x07 \u202egpj\u0000"


def text(rows: list[Row]) -> str:
    return "\n".join(row.left.plain.ljust(1) + (row.right.plain if row.right else "") for row in rows)


def shelf_of(entry: dict[str, object], card: SkillDetails | None = None, **more: object) -> SkillsState:
    skills = tuple(SkillEntry.of(one) for one in ENTRIES)
    return SkillsState(skills=skills, known=True, source="installed", card=card or CARDS.get(str(entry["id"])), **more)  # type: ignore[arg-type]


# -- the list


@pytest.mark.parametrize("width", [26, 36, 60, 78])
def test_the_intent_is_always_readable(width: int) -> None:
    row = skill_row(SkillEntry.of(THERMOSTAT), None, NOON, width)
    assert "thermostat-set" in row.left.plain
    assert row.left.cells + (row.right.cells if row.right else 0) <= width


def test_the_summary_where_there_is_room() -> None:
    assert "Read the price" in skill_row(SkillEntry.of(PRICE), None, NOON, 78).left.plain
    assert "Read the price" not in skill_row(SkillEntry.of(PRICE), None, NOON, 50).left.plain


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "– never "),
        (LastResult(Status.FAILED, NOON - 3_700), "✗ 1 h "),
        (LastResult(Status.OK, NOON - 5 * 86_400), "✓ 5 d "),
        (LastResult(Status.OK), "✓ ? "),
    ],
)
def test_how_it_went_last(result: LastResult | None, words: str) -> None:
    right = skill_row(SkillEntry.of(PRICE), result, NOON, 60).right
    assert right is not None
    assert right.plain == words


# -- the card


def test_a_card_says_what_it_needs_and_may() -> None:
    skill = SkillEntry.of(THERMOSTAT)
    shown = text(list(card_rows(skill, shelf_of(THERMOSTAT), CLOCK, 70)))
    for words in ("lamp_label*", "target*", "heat │ cool │ off", "= heat", "personal", "✗ denied: purchase_risk"):
        assert words in shown
    assert shown.index("lamp_label*") < shown.index("mode")
    assert "✗ purchase_risk" in shown
    assert "action 0.3.0" in shown


def test_a_broken_recipe_says_where() -> None:
    shown = text(list(card_rows(SkillEntry.of(SETTINGS), shelf_of(SETTINGS), CLOCK, 70)))
    assert "overview.recipe.json:12: A step needs a block" in shown
    assert "RECIPE_PARSE_FAILED" in shown


def test_a_card_that_was_not_read_yet_says_so() -> None:
    assert "Reading files" in text(list(card_rows(SkillEntry.of(PRICE), shelf_of(SETTINGS), CLOCK, 70)))


def test_a_policy_that_cannot_be_read_allows_nothing() -> None:
    card = replace(CARDS[PRICE["id"]], policy_trouble=SkillIssue("policy.toml:3: unknown key", "USAGE"), rulings=())
    shown = text(list(card_rows(SkillEntry.of(PRICE), shelf_of(PRICE, card), CLOCK, 70)))
    assert "all denied" in shown
    assert "policy.toml:3" in shown


@pytest.mark.parametrize("width", [20, 44, 76, 120])
def test_no_row_is_wider_than_the_card(width: int) -> None:
    for entry in ENTRIES:
        for row in card_rows(SkillEntry.of(entry), shelf_of(entry), CLOCK, width):
            assert row.left.cells + (row.right.cells if row.right else 0) <= max(width, 60)


def test_hostile_texts_stay_text() -> None:
    entry = {**PRICE, "id": HOSTILE, "applicationId": HOSTILE, "summary": HOSTILE, "scripts": [HOSTILE]}
    card = SkillDetails(skill_id=HOSTILE, text=HOSTILE, findings=FINDINGS, profile=HOSTILE)
    skill = SkillEntry.of(entry)
    rows = [*card_rows(skill, shelf_of(entry, card), CLOCK, 60), skill_row(skill, None, NOON, 40)]
    rows.append(Row(summary_line(skill, shelf_of(entry, card), 60)))
    shown = text(rows)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[red]x[/]" in shown


def test_inputs_of_a_script_are_summed_up() -> None:
    line = summary_line(SkillEntry.of(ALERT), shelf_of(ALERT, SkillDetails(skill_id=ALERT["id"])), 78)
    assert line.plain.startswith(" inputs: item*, limit*")


# -- Markdown


def test_markdown_is_coloured_source() -> None:
    rows = list(markdown_rows(TEXT, 76))
    shown = text(rows)
    assert "name: read-price" not in shown
    assert shown.startswith(" # Read a price")
    assert rows[0].left.spans[1] == ("Read a price", "accent")
    assert "**searches** for one item and reads its price" in shown  # one paragraph, whatever its lines
    roles = {words: role for row in rows for words, role in row.left.spans}
    assert {roles[words] for words in roles if words.startswith("**")} == {"strong"}
    assert {roles[words] for words in roles if words.startswith("`") and not words.startswith("```")} == {"node-id"}
    assert "[notes](https://example.com/notes)" in " ".join(shown.split())  # no link hides where it leads
    assert " - the item has no price: the words are `not found`" in shown
    assert "   - and tells so" in shown
    assert roles['clawperator skills run com.example.shop.read-price -- "Oat milk"'] == "node-text"
    assert " > Prices change" in shown


def test_a_fence_that_never_ends_is_code_to_the_end() -> None:
    rows = list(markdown_rows("```\n# no heading\n- no item", 40))
    assert [row.left.plain for row in rows] == [" ```", " # no heading", " - no item"]
    assert {row.left.spans[1][1] for row in rows} == {"node-text"}


def test_a_rule_is_no_front_matter() -> None:
    assert "words" in text(list(markdown_rows("---\nwords\n\nmore", 40)))


def test_endless_text_ends() -> None:
    rows = list(markdown_rows("a\n\n" * 10_000, 40))
    assert len(rows) <= MOST_LINES + 1
    assert rows[-1].left.plain.endswith("more lines")


@given(st.text(alphabet="#-*`_[]()>|~ \n\tab1.漢\x1b\u202e!", max_size=300), st.integers(12, 80))
def test_any_markdown_fits_and_is_safe(source: str, width: int) -> None:
    for row in markdown_rows(source, width):
        assert isinstance(row.left, Line)
        assert row.left.cells <= width
        assert row.left.plain.isprintable()
        assert cells(row.left.plain) == row.left.cells


def test_a_long_line_is_read_once() -> None:
    assert list(markdown_rows("**" * 100_000 + "`" * 100_000, 40))


# -- output


def ring_row(words: str, stream: str = "stdout", width: int = 60) -> Row:
    ring = OutputRing()
    ring.add(OutputLine(stream, words, NOON + 3.1))  # type: ignore[arg-type]
    return output_row(ring[0], NOON, width)


def test_results_are_read_one_by_one() -> None:
    assert ring_row("RESULT|price=4.99|unit=kg|checked").left.plain.strip() == "3.1  ◆ price=4.99  unit=kg  checked"


def test_errors_have_a_sign_and_not_only_a_colour() -> None:
    assert ring_row("boom", "stderr").left.plain.strip() == "3.1  ! boom"


@pytest.mark.parametrize("width", [12, 30, 43, 44, 60])
def test_a_line_fits_its_pane(width: int) -> None:
    for words in ("x" * 5_000, HOSTILE * 20, "RESULT|" + "|".join(f"key{n}=value{n}" for n in range(50))):
        row = ring_row(words, width=width)
        assert row.left.cells <= width + 2
        assert "\x1b" not in row.left.plain


def test_how_a_run_stands() -> None:
    run = SkillRunState(number=1, subject="a.b", kind="script x.py", since=NOON - 3, limit=120.0)
    assert run_row(run, NOON, 60).left.plain.startswith(" ● 3.0 s of 120 s")
    failed = replace(run, exit_code=3).over(
        Status.FAILED, "Skill a.b exited with code 3", NOON, code="SKILL_EXECUTION_FAILED"
    )
    assert run_row(failed, NOON + 50, 60).left.plain.startswith(" ✗ exit 3")
    shown = text(list(outcome_rows(failed, 60)))
    assert "exited with code 3" in shown
    assert "SKILL_EXECUTION_FAILED" in shown
    cancelled = run.over(Status.SKIPPED, "Cancelled after 3.0 s.", NOON)
    assert "cancelled" in run_row(cancelled, NOON, 60, ASCII).left.plain


# -- findings and plans


def test_findings_stand_below_their_files() -> None:
    rows = list(findings_rows(FINDINGS, 60))
    assert [number for _, number in rows] == [-1, 0, -1, -1, 1, -1, -1, 2, -1]
    assert rows[1][0].left.plain.split() == ["✗", "9", "L-LITERAL-EMAIL"]


def test_a_plan_step_by_step() -> None:
    shown = text(list(plan_rows([an_execution(), an_execution(1)], (), [{"message": "odd"}], 70)))
    assert " 4 steps · 68 s at most · 2 executions" in shown
    assert "! odd" in shown
    assert 'wait_for_node text~"Oat milk"' in shown
