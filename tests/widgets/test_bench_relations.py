"""Relations and containers in the workbench: in the line and as pasted JSON, by the device's rules, with the reason why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.executions.steps import step
from clawperator.engine.hierarchy.choice import candidates, finder
from clawperator.engine.hierarchy.matcher import FIELDS, RELATIONS, Matcher
from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.format.bench import candidate_rows, field_rows, field_states, matcher_pieces, miss_rows
from clawperator.widgets.models.bench import Bench, rows_of, with_field, without
from clawperator.widgets.text.matcher_text import complete, matcher_text, parse_matcher_text
from tests.support import table

ROW = """<node resource-id="x:id/row" class="android.view.View" bounds="[0,{0}][900,{1}]">
  <node text="{2}" class="android.widget.TextView" bounds="[0,{0}][400,{1}]"/>
  <node text="Like" class="android.widget.Button" clickable="true" bounds="[400,{0}][900,{1}]"/></node>"""
TREE = parse(f"""<hierarchy rotation="0"><node class="android.widget.ListView" scrollable="true" bounds="[0,0][900,900]">
  {ROW.format(0, 300, "Ann")}{ROW.format(300, 600, "Bea")}{ROW.format(600, 900, "Bea Two")}</node></hierarchy>""")
FLAT = "text=Like container.res:x:id/row container.descendant.text=Bea"
WHOLE = {"resourceId": "x:id/row", "descendant": {"textEquals": "Bea"}}


def typed(line: str) -> Bench:
    bench = Bench()
    bench.focus(TREE, TREE.nodes[3])
    read = parse_matcher_text(line, TREE)
    assert not read.problem
    bench.type(read.matcher)
    return bench


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        (FLAT, ["0/1/1"]),
        ('{"matcher": {"textEquals": "Like"}, "container": {"resourceId": "x:id/row", "descendant": {"textEquals": "Bea"}}}', ["0/1/1"]),
        ('{"selector": {"textEquals": "Like"}, "container": {"resourceId": "x:id/row"}}', ["0/0/1"]),
        ("text=Like container.res:row", ["0/0/1"]),
        ("res:row descendant.text=Bea", ["0/1"]),
        ("text~bea ancestor.role:list", ["0/1/0", "0/2/0"]),
        ("text=Like container.text=Nobody", []),
    ],
)  # fmt: skip
def test_a_line_finds_what_an_action_takes(line: str, paths: list[str]) -> None:
    bench = typed(line)
    assert [node.path for node in bench.matches] == paths
    matcher = bench.current
    assert parse_matcher_text(matcher_text(matcher)).matcher == matcher
    if paths:
        place = finder(matcher.container.to_dict()) if matcher.container else None
        assert [*candidates(TREE, finder(matcher.to_dict()), container=place)] == [*bench.matches]


NAMES = st.sampled_from([*FIELDS, *(f"{place}.{field}" for place in (*RELATIONS, "container", "container.ancestor") for field in FIELDS)])  # fmt: skip


@given(st.dictionaries(NAMES, st.text(min_size=1, max_size=9), min_size=1))
def test_every_matcher_is_read_back(flat: dict[str, str]) -> None:
    matcher = Matcher.from_flat(flat)
    read = parse_matcher_text(matcher_text(matcher))
    assert (read.matcher, read.problem) == (matcher, "")
    for name, line in rows_of(matcher).items():
        assert with_field(matcher, name, line) == matcher
        assert name not in rows_of(without(matcher, name))


@table(
    ("line", "words"),
    [
        ("ancestor.ancestor.text=x", "unknown field ancestor.ancestor.text"),
        ("elsewhere.text=x", "unknown field elsewhere.text"),
        ('{"ancestor": {"descendant": {"textEquals": "x"}}}', "unknown field descendant"),
        ('{"ancestor": "x"}', "unknown field ancestor"),
        ('{"textEquals": {"ancestor": "x"}}', "textEquals must be a quoted string"),
        ("descendant.text=", "needs a value"),
    ],
)
def test_what_no_device_knows_is_a_problem(line: str, words: str) -> None:
    assert words in parse_matcher_text(line).problem


def test_the_form_and_the_misses_say_why_not() -> None:
    bench = typed("text=Bea container.res:x:id/row")
    findings = bench.findings
    assert findings is not None
    assert findings.whole.verdict == "container removes the last 1"
    states = [*field_states(bench.current, bench.subject, bench.explanation, findings.alone, findings.redundant)]
    assert [(state.field, state.wanted, state.alone) for state in states if state.wanted] == [
        ("textEquals", "Bea", 1),
        ("container", "res:x:id/row", 2),
    ]
    drawn = [row.left.plain for state in states for row in field_rows(state, 90)]
    assert any("container res:x:id/row" in line for line in drawn)
    near = findings.whole.nearest[0]
    assert near.node.path == "0/1/0"
    missed = " ".join(row.left.plain for row in miss_rows(near, 1, 90))
    assert "container it is not inside the first node on screen that matches" in missed


def test_a_candidate_in_a_container_is_tried_copied_and_sent_with_it() -> None:
    bench = Bench()
    bench.focus(TREE, TREE.nodes[9])  # the last Like; a text in its row is part of no other
    kinds = [candidate.kind for candidate in bench.candidates]
    assert "related" in kinds or "inside" in kinds
    inside = next((at for at, kind in enumerate(kinds) if kind == "inside"), 0)
    bench.pick(inside)
    assert [node.path for node in bench.matches] == ["0/2/1"]
    sent = step("tap", matcher=bench.current, container=Matcher(role="list"))["params"]
    assert sent == {"matcher": {"textEquals": "Like"}, "container": bench.candidates[inside].container.to_dict()}  # type: ignore[union-attr]
    drawn = [row.left.plain for row in candidate_rows(bench.candidates[inside], 1, 80)]
    assert not any("scroll in" in line for line in drawn)
    assert any(" in #row" in line for line in drawn)


def test_verbs_take_the_container_that_was_typed_else_the_one_that_scrolls() -> None:
    like, listed = Matcher(text_equals="Like"), Matcher(role="list")
    assert "container" not in step("tap", matcher=like, container=listed)["params"]
    assert step("scroll_to", matcher=like, container=listed)["params"]["container"] == {"role": "list"}
    typed_one = parse_matcher_text(FLAT).matcher
    assert step("read", matcher=typed_one)["params"] == {"matcher": {"textEquals": "Like"}, "container": WHOLE}


def test_completions_behind_a_place() -> None:
    assert [each.what for each in complete("container.d", 11, TREE)] == ["container.desc=", "container.desc~", "container.descendant."]  # fmt: skip
    assert "descendant." in [each.what for each in complete("desc", 4, TREE)]
    line = "text=Like container.res:x:id/row container.descendant.text="
    assert ("Ann", "1") in [(each.what, each.words) for each in complete(line, len(line), TREE)]


def test_pieces_name_the_place() -> None:
    assert matcher_pieces(parse_matcher_text(FLAT).matcher) == [
        ("text=", "Like", "node-text"),
        ("container.#", "row", "node-id"),
        ("container.descendant.text=", "Bea", "node-text"),
    ]
