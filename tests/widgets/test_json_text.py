"""JSON with places: every span points at its value, the problem at its cause, and no text whatever makes it fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.widgets.text.json_text import Path, editable, read, roles
from tests.support import table

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


# -- whole texts


@given(VALUES, LAYOUTS)
def test_every_span_holds_the_value_of_its_path(value: Any, layout: dict[str, Any]) -> None:
    text = written(value, layout)
    found = read(text)
    assert not found.problem
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
def test_there_is_a_problem_exactly_where_it_is_no_json(text: str) -> None:
    found = read(text)
    assert bool(found.problem) is not is_json(text)
    assert 0 <= found.at <= len(text)
    for start, end in (*found.values.values(), *found.keys.values()):
        assert 0 <= start <= end <= len(text)


def test_depth_exhausts_nothing() -> None:
    text = "[" * 200_000
    assert "nested" in read(text).problem
    assert len(read(text).values) < 100


@table(
    ("text", "marked", "words"),
    [
        ('{"a": 1 "b": 2}', '"b"', "Expecting ',' delimiter"),
        ('{"a" 1}', "1}", "Expecting ':' delimiter"),
        ("{a: 1}", "a: 1}", "Expecting property name"),
        ('{"a": yes}', "yes}", "Expecting value"),
        ('{"a": "yes}', '"yes}', "Unterminated string"),
        ('{"a": "\\q"}', "\\q", "escape"),
        ('{"a": 1, "a": 2}', '"a": 2', "'a' appears twice"),
        ('{"a": 1} x', "x", "Extra data"),
        ("[1, 1e999]", "1e999", "too large"),
        ('{"a": 1', "", "Expecting ',' delimiter"),
    ],
)
def test_the_problem_is_where_the_text_breaks(text: str, marked: str, words: str) -> None:
    found = read(text)
    assert text[found.at :].startswith(marked)
    assert words in found.problem


def test_what_stands_before_a_problem_has_its_place() -> None:
    found = read('{"actions": [{"id": "a"}, {"id": "b", oops')
    assert found.value(("actions", 0, "id")) == "a"
    assert found.values[("actions", 1)].end == len(found.text)


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
