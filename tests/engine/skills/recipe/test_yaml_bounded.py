"""YAML of recipes: the core schema of 1.2 and not a word of 1.1, lines of everything, and nothing that explodes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.engine.skills.recipe.yaml_bounded import MAX_DEPTH, MAX_VALUES, Loaded, YamlError, load
from tests.support import table


@table(
    ("written", "meant"),
    [
        # texts that YAML 1.1 takes for something else
        *((word, word) for word in ("on", "off", "yes", "no", "y", "n", "On", "YES", "Off")),
        *(
            (word, word)
            for word in ("2024-01-01", "2001-12-14t21:59:43.10-05:00", "12:30", "190:20:30", "1_000", "0b11")
        ),
        *((word, word) for word in ("<<", "=", "tRue", "nUll", "1.0.0", "+", "-.", "0o8", "0xg", "1e", ".e1", "+0o7")),
        # what the core schema knows
        *((word, None) for word in ("~", "null", "Null", "NULL", "")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        ("0o17", 15),
        ("017", 17),
        ("0xfF", 255),
        ("-0", 0),
        ("+12", 12),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1e3", -1000.0),
        ("1E-2", 0.01),
        ("9007199254740991", 2**53 - 1),
        # quotes make everything text
        ('"true"', "true"),
        ("'1'", "1"),
        ('""', ""),
        (r'"\ud83d\ude00 \u00e9 \x41 \/"', "\U0001f600 é A /"),
    ],
)
def test_scalars(written: str, meant: object) -> None:
    value = load(f"key: {written}").value["key"]
    assert value == meant
    assert type(value) is type(meant)


@table(
    ("text", "said", "line"),
    [
        ("a: &x 1\nb: *x", "anchors and aliases", 0),
        ("b: *x", "anchors and aliases", 0),
        ("a: 1\nb: !!python/object:os.system x", "tags", 1),
        ("a: !!str 1", "tags", 0),
        ("a: ! x", "tags", 0),
        ("a: 1\n\na: 2", "'a' is a duplicate", 2),
        ("a: {b: 1, 'b': 2}", "'b' is a duplicate", 0),
        ("1: x", "a key must be text", 0),
        ("null: x", "a key must be text", 0),
        ("? [a]\n: x", "a key must be text", 0),
        ("a: 1\n---\nb: 2", "only one document", 1),
        ("%YAML 1.1\n---\na: 1", "directives", 0),
        ("%TAG ! tag:x,2000:\n---\na: 1", "directives", 0),
        ("a: 1\nb: [1, 2", "", 1),
        ("a: b: c", "mapping values are not allowed", 0),
        ("a:\n\t- x", "cannot start any token", 1),
        ("a: .inf", "not a JSON number", 0),
        ("a: -.INF", "not a JSON number", 0),
        ("a: .nan", "not a JSON number", 0),
        ("a: 1e999", "too large", 0),
        ("a: 1\nb: 9007199254740992", "exceeds 2^53", 1),
        ("a: -9007199254740992", "exceeds 2^53", 0),
        (f"a: {'9' * 100_000}", "exceeds 2^53", 0),
        (f"a: 0x{'f' * 100_000}", "exceeds 2^53", 0),
        ("a: 1\nb: \x07", "U+0007 is not allowed", 1),
        ("a: 1\nb: x\u2028y", "U+2028 must be written", 1),
        ("a: x\x85y", "U+0085 must be written", 0),
        ('a: 1\nb: "\\ud800"', "half of a surrogate pair", 1),
        ('a: "\\UFFFFFFFF"', "invalid escape", 0),
        ('a: "\\U00110000"', "invalid escape", 0),
        ("a: " + "[" * (MAX_DEPTH + 1), "levels deep", 0),
        ("a: " + "[" * 100_000, "levels deep", 0),
        ("- " * 10_000, "levels deep", 0),
        ("a: [" + "1," * MAX_VALUES + "]", "values", 0),
    ],
    ids=lambda value: str(value)[:20],
)
def test_refusals(text: str, said: str, line: int) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert said in caught.value.reason
    assert caught.value.line == line
    assert len(caught.value.reason) < 300


def test_a_bomb_is_refused_at_its_first_anchor() -> None:
    bomb = 'a: &a ["lol","lol"]\n' + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(20)
    )
    with pytest.raises(YamlError) as caught:
        load(bomb)
    assert (caught.value.line, caught.value.reason) == (0, "anchors and aliases are not supported")


def test_lines_of_keys_and_items() -> None:
    lines = load("a:\n  - 1\n  - b: 2\n    c: >\n      folded\n      text\nd: {e: 1,\n  f: [2,\n 3]}\n").lines
    assert lines["a",] == 0
    assert lines["a", 1] == 2
    assert lines["a", 1, "c"] == 3
    assert lines["d", "e"] == 6
    assert lines["d", "f", 0] == 7
    assert lines["d", "f", 1] == 8


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~"])
def test_nothing_is_null(text: str) -> None:
    assert load(text).value is None


def attempt(text: str) -> Loaded | YamlError:
    try:
        return load(text)
    except YamlError as exc:
        return exc


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(_JSON, st.booleans())
@example({"é\U0001f600": ['"', "\\", "\n", "{{X}}", "${inputs.a}", "\u2028", "\x7f", "\x00"]}, True)
def test_json_is_yaml(value: Any, ascii_only: bool) -> None:
    """Quoted and escaped, every JSON value comes through as it is; raw, what may not stand in YAML is refused and named."""
    text = json.dumps({"value": value}, ensure_ascii=ascii_only)
    loaded = attempt(text)
    if isinstance(loaded, YamlError):
        assert not ascii_only or "\x7f" in text, loaded
        assert "U+" in loaded.reason
        return
    assert json.dumps(loaded.value) == json.dumps({"value": value})


@given(st.text(alphabet="ab:-?&*!|>'\"%@`{}[],# \n\t\\0x1.~<=\u2028é", max_size=60))
def test_any_text_is_a_value_or_a_refusal_with_a_line(text: str) -> None:
    loaded = attempt(text)
    if isinstance(loaded, YamlError):
        assert 0 <= loaded.line <= text.count("\n") + 1
        assert loaded.reason
    else:
        assert json.loads(json.dumps(loaded.value, allow_nan=False)) == loaded.value
