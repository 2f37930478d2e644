"""JSON with places: every span points at its value, every fault at its cause, and no text whatever makes it fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.widgets.text.json_place import JsonPlace, place_at
from clawperator.widgets.text.json_reader import Path
from clawperator.widgets.text.json_text import editable, read, roles

KEYS = st.one_of(st.sampled_from(["a", "b", "a.b", "0", "actions", "type", ""]), st.text(max_size=8))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)  # fmt: skip
LAYOUTS = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"indent": 1, "ensure_ascii": False},
        {"separators": (",", ":")},
        {"separators": (" ,\n", "\t: ")},
    ]
)


def written(value: Any, layout: dict[str, Any]) -> str:
    return json.dumps(value, **layout)


def paths(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*path, index))


def is_json(text: str) -> bool:
    try:
        parse_json(text)
    except EngineError:
        return False
    return True


def place_in(text: str, offset: int) -> JsonPlace:
    return place_at(text, offset)[0]


# -- whole texts


@given(VALUES, LAYOUTS)
def test_every_span_holds_the_value_of_its_path(value: Any, layout: dict[str, Any]) -> None:
    text = written(value, layout)
    found = read(text)
    assert not found.faults
    expected = dict(paths(value))
    assert found.values.keys() == expected.keys()
    for path, inner in expected.items():
        start, end = found.values[path]
        assert json.loads(text[start:end]) == inner
        assert found.value(path) == inner
        if path and isinstance(path[-1], str):
            assert json.loads(text[slice(*found.keys[path])]) == path[-1]


@given(VALUES, LAYOUTS)
def test_a_dotted_path_leads_to_its_value(value: Any, layout: dict[str, Any]) -> None:
    text = written(value, layout)
    found = read(text)
    for path in found.values:
        dotted = ".".join(map(str, path))
        reached, whole = found.find(dotted)
        assert whole
        assert ".".join(map(str, reached)) == dotted
        assert text[slice(*found.span_of(dotted))]


PIECES = st.lists(
    st.sampled_from(["{", "}", "[", "]", ":", ",", '"a"', '"b":', "1", "-", "01", "true", "nul", '"', "\\", "\n", " ", "'", '"\\x"', '"\t"', "1e999"]),
    max_size=24,
).map("".join)  # fmt: skip
MUTATED = st.builds(
    lambda value, layout, at, drop, put: (text := written(value, layout))[: at % (len(text) + 1)]
    + put
    + text[at % (len(text) + 1) + drop :],
    VALUES, LAYOUTS, st.integers(0, 300), st.integers(0, 6), st.sampled_from(["", ",", "}", "]", '"', "x", ":", "\\", "\n"]),
)  # fmt: skip


@given(st.one_of(PIECES, MUTATED, st.text(max_size=40)))
def test_there_is_a_fault_exactly_where_it_is_no_json(text: str) -> None:
    found = read(text)
    assert bool(found.faults) is not is_json(text.removeprefix("\ufeff") if not text.startswith("\ufeff") else "{")
    for start, end, words in found.faults:
        assert 0 <= start <= end <= len(text)
        assert words
    for start, end in (*found.values.values(), *found.keys.values()):
        assert 0 <= start <= end <= len(text)


@given(st.one_of(PIECES, MUTATED), st.integers(0, 400))
def test_any_place_of_any_text_can_be_asked_for(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    place = place_in(text, offset)
    assert 0 <= place.span.start <= offset <= place.span.end <= len(text)
    assert place.comma_before <= len(text)
    assert place_at(text, offset)[1] == read(text)
    line, column = read(text).place(offset)
    assert read(text).offset(line, column) == offset


def test_depth_exhausts_nothing() -> None:
    text = "[" * 200_000
    assert any("nested" in fault.words for fault in read(text).faults)
    assert place_in(text, 200_000).role == "value"


@pytest.mark.parametrize(
    ("text", "marked", "words"),
    [
        ('{"a": 1 "b": 2}', "1", 'missing ","'),
        ('{"a" 1}', '"', 'missing ":"'),
        ("{a: 1}", "a", "a key must be quoted"),
        ('{"a": 1,}', ",", "trailing comma"),
        ('{"a": yes}', "yes", "text must be quoted"),
        ('{"a": "yes}', '"yes}', "closing quote"),
        ('{"a": "\\q"}', "\\q", "invalid escape"),
        ('{"a": "tab\there"}', "\t", "control character"),
        ('{"a": 1, "a": 2}', '"a"', "duplicate key"),
        ('{"a": [1, 2}', "}", "missing ]"),
        ('{"a": 1} x', "x", "unexpected content after the end"),
        ("[1, 1e999]", "1e999", "too large"),
        ('{"a": 1', "", "missing end: }"),
    ],
)
def test_a_fault_is_marked_where_it_is(text: str, marked: str, words: str) -> None:
    fault = read(text).faults[0]
    assert text[fault.start : fault.end] == marked
    assert words in fault.words


def test_reading_goes_on_behind_a_fault() -> None:
    found = read('{\n  "a": 1\n  "b": oops,\n  "c": {"d": 2,}\n}')
    assert [found.place(fault.start)[0] for fault in found.faults] == [1, 2, 3]
    assert found.value(("c", "d")) == 2


# -- what a problem underlines


def test_a_problem_underlines_the_value_or_what_is_nearest() -> None:
    text = json.dumps({"actions": [{"id": "a", "params": {"key": "enter", "foo": 1}}], "x.y": 1}, indent=2)
    found = read(text)

    def marked(path: str, message: str = "") -> str:
        return text[slice(*found.span_of(path, message))]

    assert marked("actions.0.params.key") == '"enter"'
    assert marked("actions.0.params", "`actions.0.params` has an unknown key: 'foo'") == '"foo"'
    assert marked("actions.0.params") == '"params"'
    assert marked("actions.0.type", "`actions.0.type` is missing") == "{"
    assert marked("actions.0.params.matcher.role") == '"params"'
    assert marked("x.y") == "1"
    assert marked("", "The payload has an unknown key: 'x.y'") == '"x.y"'
    assert marked("timeoutMs", "`timeoutMs` is missing") == "{"


# -- places


@pytest.mark.parametrize(
    ("text", "role", "path", "typed"),
    [
        ("|", "value", (), ""),
        ("{|}", "key", (), ""),
        ('{"co|"}', "key", (), "co"),
        ('{"a": |}', "value", ("a",), ""),
        ('{"a": "be|e"}', "value", ("a",), "be"),
        ('{"a": fa|}', "value", ("a",), "fa"),
        ('{"a": [1, |]}', "value", ("a", 1), ""),
        ('{"a": [{"b": 1}, {"t|', "key", ("a", 1), "t"),
        ('{"a"|: 1}', "", (), ""),
        ('{"a": "x"|}', "key", (), ""),
        ('{"a": [1|, 2]}', "value", ("a", 0), "1"),
    ],
)
def test_what_may_be_written_where(text: str, role: str, path: Path, typed: str) -> None:
    offset = text.index("|")
    place = place_in(text.replace("|", ""), offset)
    assert (place.role, place.path, place.typed) == (role, path, typed)


def test_commas_and_colons_around_a_place_are_seen() -> None:
    assert place_in('{"a": 1\n  "b": 2}', 9).comma_before == 7
    assert place_in('{ "b": 2}', 1).comma_after
    assert not place_in("{ }", 1).comma_after
    assert place_in('{"b": 2}', 2).colon
    assert place_in('{"b', 3).span == (1, 3)


# -- looks and safety


def test_a_line_is_coloured_by_what_it_means() -> None:
    line = '  "key": ["text", 12, true, null], oops'
    found = {line[start:end]: role for start, end, role in roles(line)}
    assert found == {
        '"key"': "node-id", ":": "faint", "[": "faint", '"text"': "node-text", ",": "faint", "12": "accent", "true": "accent",
        "null": "muted", "]": "faint", "oops": "fail",
    }  # fmt: skip


@given(VALUES)
def test_editable_text_means_the_same_and_shows_everything(value: Any) -> None:
    text = editable(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(text) == value
    assert all(each.isprintable() or each in "\n\t" for each in text)
    assert text.splitlines() == text.split("\n")
