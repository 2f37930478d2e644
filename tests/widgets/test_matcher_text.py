"""The matcher line: what it reads, what is wrong and where, and what it offers next."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.match import FIELDS, Matcher
from clawperator.engine.hierarchy.serialise import render_node
from clawperator.engine.hierarchy.tree import UiTree, build
from clawperator.widgets.text.matcher_terms import SPELLINGS
from clawperator.widgets.text.matcher_text import (
    MAX_COMPLETIONS,
    complete,
    full_id,
    matcher_text,
    parse_matcher_text,
)
from tests.support import table

TITLE, SUMMARY = "android:id/title", "com.shop:id/summary"


def screen(*rows: Mapping[str, object]) -> UiTree:
    nodes = [render_node({"class": "android.widget.TextView", "bounds": (0, 0, 9, 9), **row}) for row in rows]
    return build([render_node({"bounds": (0, 0, 100, 100)}, nodes)])


SHOP = screen(
    {"text": "Wi\u2011Fi", "resource-id": TITLE},
    {"text": "Home Net", "resource-id": SUMMARY},
    {"text": "Bluetooth", "resource-id": TITLE},
    {"text": "OK", "resource-id": "a:id/twice"},
    {"text": "OK", "resource-id": "b:id/twice", "content-desc": 'Really "OK"?'},
)  # fmt: skip


@table(
    ("line", "fields"),
    [
        ("", {}),
        ("   ", {}),
        ("res:android:id/title", {"resourceId": TITLE}),
        ("res:title", {"resourceId": "title"}),
        ("role:button text=OK", {"role": "button", "textEquals": "OK"}),
        (
            'text="Wi-Fi calling"  text~"a \\"b\\" \\\\ c"',
            {"textEquals": "Wi-Fi calling", "textContains": 'a "b" \\ c'},
        ),
        ('desc="two\\nlines"', {"contentDescEquals": "two\nlines"}),
        ("desc~50% text~a=b:c~d", {"contentDescContains": "50%", "textContains": "a=b:c~d"}),
        ('text=5" text~C:\\dir', {"textEquals": '5"', "textContains": "C:\\dir"}),
        ("resourceId=a:id/b textEquals=x", {"resourceId": "a:id/b", "textEquals": "x"}),
        ("res=a:id/b role=icon", {"resourceId": "a:id/b", "role": "icon"}),
        ('text="still being ty', {"textEquals": "still being ty"}),
        (' {"textEquals": "A \\u00e9", "role":"text"} ', {"textEquals": "A \u00e9", "role": "text"}),
        ("{}", {}),
    ],
)
def test_what_is_read(line: str, fields: dict[str, str]) -> None:
    read = parse_matcher_text(line)
    assert read.matcher.fields() == {name: fields[name] for name in FIELDS if name in fields}
    assert (read.problem, read.column) == ("", -1)


@table(
    ("line", "column", "problem"),
    [
        ("role:text Wi-Fi", 10, "missing field: res: role: text= text~ desc= desc~"),
        ("tex", 0, "text: use text= or text~"),
        ('"Home Net"', 0, "missing field: res: role: text= text~ desc= desc~"),
        ("role:text cls=x", 10, "unknown field cls: res: role: text= text~ desc= desc~"),
        ("text:OK", 0, "unknown field text:: use text= or text~"),
        ("res:a:id/b text=", 16, "textEquals needs a value"),
        ('text="" role:text', 5, "textEquals needs a value"),
        ("text=a text=b", 7, "textEquals is given twice"),
        (f"role:text text~{'x' * 513}", 15, "513 characters, at most 512 allowed"),
        ("text~" + "\U0001f600" * 257, 5, "514 characters, at most 512 allowed"),
        ('text="a"b', 8, "missing blank after the quote"),
        ("=x", 0, "unknown field =: res: role: text= text~ desc= desc~"),
        ('{"textEquals": 5}', 15, "textEquals must be a quoted string"),
        ('{"cls": "x"}', 1, f"unknown field cls: {' '.join(FIELDS)}"),
        ('{"role": ""}', 9, "role needs a value"),
        ('{"role": "a", "role": "b"}', 14, "the key 'role' appears twice in one object"),
        ('{"role" "a"}', 8, "Expecting ':' delimiter"),
        ('{"role": "a" "b"}', 13, "Expecting ',' delimiter"),
        ('{"role": "a"', 12, "Expecting ',' delimiter"),
        ('{"role": ', 9, "Expecting value"),
        ("{role: 1}", 1, "Expecting property name enclosed in double quotes"),
        ('{"role": "a"} x', 14, "Extra data"),
        ('{"role": ' + "[" * 5_000, 0, "nested more than 64 levels deep"),
    ],
)
def test_what_is_wrong_and_where(line: str, column: int, problem: str) -> None:
    read = parse_matcher_text(line)
    assert (read.problem, read.column) == (problem, column)


def test_what_can_be_read_counts_while_the_rest_is_being_typed() -> None:
    assert parse_matcher_text("role:text text=").matcher == Matcher(role="text")
    assert parse_matcher_text('{"role": "text", "textEquals": ').matcher == Matcher(role="text")


def test_the_first_problem_of_the_line_is_named() -> None:
    assert parse_matcher_text("wrong text=").column == 0


def test_a_short_id_is_the_one_full_id_that_ends_so() -> None:
    assert parse_matcher_text("res:title", SHOP).matcher == Matcher(resource_id=TITLE)
    assert parse_matcher_text("res:id/summary", SHOP).matcher == Matcher(resource_id=SUMMARY)
    assert full_id("twice", SHOP) == "twice", "two ids end so"
    assert full_id("itle", SHOP) == "itle", "half a name is none"
    assert full_id("com.shop:id/title", SHOP) == "com.shop:id/title"
    assert full_id("title", screen({"resource-id": "title"}, {"resource-id": TITLE})) == "title", "that very id exists"


VALUES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40) | st.sampled_from(
    ['"', "\\", " ", "a b", '\\"', "x\n", "{", "{}", "res:x", "\u00a0", "\x1c", "\u2028", "=", "~"]
)
MATCHERS = st.dictionaries(st.sampled_from(FIELDS), VALUES).map(Matcher.from_fields)


@given(MATCHERS)
def test_a_matcher_is_written_so_that_it_is_read_again(matcher: Matcher) -> None:
    line = matcher_text(matcher)
    assert parse_matcher_text(line) == (line, matcher, "", -1)
    assert "\n" not in line


@given(MATCHERS)
def test_the_json_of_a_matcher_is_read(matcher: Matcher) -> None:
    for indent in (None, 2):
        read = parse_matcher_text(json.dumps(matcher.fields(), indent=indent))
        assert (read.matcher, read.problem) == (matcher, "")


@given(st.text(st.sampled_from('res:textdcol=~ "\\{},a\n\u00e9'), max_size=40) | st.text(max_size=20))
def test_no_line_is_too_strange(line: str) -> None:
    read = parse_matcher_text(line, SHOP)
    assert bool(read.problem) == (read.column >= 0)
    assert -1 <= read.column <= len(line)
    assert parse_matcher_text(matcher_text(read.matcher)).matcher == read.matcher


class TestCompletions:
    @staticmethod
    def offered(line: str, tree: UiTree | None = SHOP) -> list[tuple[str, str]]:
        return [(item.what, item.words) for item in complete(line, len(line), tree)]

    def test_fields_come_first(self) -> None:
        assert [what for what, _ in self.offered("")] == ["res:", "text=", "text~", "desc=", "desc~", "role:", "ancestor.", "descendant.", "container."]  # fmt: skip
        assert self.offered("te") == [("text=", "text is"), ("text~", "text contains")]
        assert self.offered("text=OK te") == [("text~", "text contains")], "no field twice"
        assert self.offered("xyz") == []

    def test_then_values_of_the_screen_unique_ones_first(self) -> None:
        assert self.offered("res:") == [(SUMMARY, "1"), ("a:id/twice", "1"), ("b:id/twice", "1"), (TITLE, "2")]
        assert self.offered("text=") == [("Wi\u2011Fi", "1"), ('"Home Net"', "1"), ("Bluetooth", "1"), ("OK", "2")]
        assert self.offered("role:") == [("unknown", "1"), ("text", "5")]

    def test_values_are_those_that_the_other_terms_leave(self) -> None:
        assert self.offered("res:title text=") == [("Wi\u2011Fi", "1"), ("Bluetooth", "1")]

    def test_values_that_begin_as_typed_come_before_those_that_hold_it(self) -> None:
        assert self.offered("res:t") == [
            ("a:id/twice", "1"), ("b:id/twice", "1"), (TITLE, "2"),
        ]  # fmt: skip
        assert self.offered('text="home n') == [('"Home Net"', "1")]
        assert self.offered("text=tooth") == [("Bluetooth", "1")]

    def test_what_is_taken_is_a_line_that_can_be_read(self) -> None:
        for line in ("", "te", "text=", "res:twi", 'desc="rea', "role:text te"):
            for item in complete(line, len(line), SHOP):
                read = parse_matcher_text(item.text, SHOP)
                assert item.text[: item.cursor].endswith(item.what)
                assert not read.problem or read.problem.endswith("needs a value") or item.what.endswith("."), item

    def test_in_the_middle_only_the_term_at_the_cursor_changes(self) -> None:
        [item] = complete("res:summ role:text", 8, SHOP)
        assert (item.text, item.cursor) == (f"res:{SUMMARY} role:text", 4 + len(SUMMARY))

    def test_a_finished_value_and_json_are_left_alone(self) -> None:
        assert self.offered('text="OK"') == []
        assert self.offered("text=Bluetooth") == []
        assert self.offered('{"role": "t') == []

    def test_there_are_never_more_than_can_be_looked_through(self) -> None:
        many = screen(*({"text": f"row {index}"} for index in range(200)))
        assert len(self.offered("text=", many)) == MAX_COMPLETIONS

    def test_without_a_tree_fields_only(self) -> None:
        assert self.offered("t", None) == [("text=", "text is"), ("text~", "text contains")]
        assert self.offered("text=", None) == []

    def test_a_role_that_the_screen_does_not_have_can_still_be_spelled(self) -> None:
        assert self.offered("role:textf") == [("textfield", "0")]
        assert self.offered("role:card") == []


def test_every_field_has_a_spelling() -> None:
    assert tuple(SPELLINGS) == FIELDS
