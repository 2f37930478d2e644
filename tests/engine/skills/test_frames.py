"""What scripts say by convention, and that no output whatever makes its reading fail or run away."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.skills.frames import MAX_FRAMES, MAX_RESULT, SKILL_RESULT, kind_of, parse_frames
from tests.support import table

MARK = SKILL_RESULT[0]
OUTPUT = """starting
RESULT|status=ok|temperature=21.5 | note=a=b|partial
  SCREENSHOT|path=/tmp/a b.png|width=1080
TEXT_BEGIN
RESULT|this=is text
  two
TEXT_END
✓ not the last line
[Clawperator-Skill-Result] {"status": "success", "rooms": ["a", {"b": null}]}
✅ Done

"""


def test_every_kind() -> None:
    assert [dict(frame) for frame in parse_frames(OUTPUT)] == [
        {
            "kind": "result",
            "line": 2,
            "values": {"status": "ok", "temperature": "21.5", "note": "a=b"},
            "words": ["partial"],
        },
        {"kind": "screenshot", "line": 3, "path": "/tmp/a b.png", "values": {"width": "1080"}},
        {"kind": "text", "line": 4, "text": "RESULT|this=is text\n  two", "complete": True},
        {"kind": "skillResult", "line": 9, "result": {"status": "success", "rooms": ["a", {"b": None}]}},
        {"kind": "done", "line": 10, "text": "✅ Done"},
    ]


def test_line_ends_of_other_systems() -> None:
    text = "RESULT|a=1\r\nTEXT_BEGIN\r\nx\r\ny\r\nTEXT_END\r\n✔ ok\r\n"
    frames = parse_frames(text)
    assert [frame["kind"] for frame in frames] == ["result", "text", "done"]
    assert frames[0]["values"] == {"a": "1"}
    assert frames[1]["text"] == "x\ny"


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    assert parse_frames("RESULT|a=1|a=2")[0]["values"] == {"a": "2"}


@pytest.mark.parametrize("text", ["TEXT_BEGIN\nx", "TEXT_BEGIN\nx\n TEXT_ENDING", "TEXT_BEGIN|name\nx\nTEXT_BEGIN"])
def test_a_text_without_an_end_goes_to_the_end(text: str) -> None:
    (frame,) = parse_frames(text)
    assert frame["kind"] == "text"
    assert not frame["complete"]
    assert frame["text"].startswith("x")


def test_an_empty_text() -> None:
    assert parse_frames("TEXT_BEGIN\nTEXT_END") == ({"kind": "text", "line": 1, "text": "", "complete": True},)


@table(
    ("line", "reason"),
    [
        (f"{MARK} [1]", "the result is not a JSON object"),
        (f"{SKILL_RESULT[1]} {{", "the result is not JSON: Expecting property name enclosed in double quotes"),
        (f'{MARK} {{"a": NaN}}', "the result is not JSON: NaN is not a JSON value"),
        (f"{MARK} " + '{"a":' * 100_00, "the result is nested too deeply"),
        (f'{MARK} {{"a":{"1" * 5000}}}', None),
        (f'{MARK} {{"a":"{"x" * MAX_RESULT}"}}', f"longer than {MAX_RESULT} characters"),
        ("SCREENSHOT|", "SCREENSHOT without path"),
        ("TEXT_END", "TEXT_END without TEXT_BEGIN"),
    ],
)
def test_what_is_broken_is_reported_and_what_follows_is_read(line: str, reason: str | None) -> None:
    broken, after = parse_frames(f"{line}\nRESULT|a=1\n")
    assert broken["kind"] == "malformed"
    assert broken["line"] == 1
    assert reason is None or broken["reason"] == reason
    assert after["values"] == {"a": "1"}


def test_only_so_many() -> None:
    frames = parse_frames("RESULT|a=1\n" * (MAX_FRAMES + 100))
    assert len(frames) == MAX_FRAMES + 1
    assert frames[-1] == {"kind": "malformed", "line": MAX_FRAMES + 1, "reason": f"more than {MAX_FRAMES} frames"}


def test_a_long_text_is_cut_and_says_so() -> None:
    (frame,) = parse_frames(f"TEXT_BEGIN\n{'x' * (MAX_RESULT + 10)}\nTEXT_END")
    assert len(frame["text"]) == MAX_RESULT
    assert frame["truncated"]


@pytest.mark.parametrize("line", ["\n", " ", " \n", "RESULT|\n", "TEXT_BEGIN\n", "x" * 99 + "\n"])
def test_much_output_is_read_once(line: str) -> None:
    """Read more than once per line, these would take longer than a test may."""
    assert len(parse_frames(line * (4 * 1024 * 1024 // len(line)))) <= MAX_FRAMES + 1


@given(st.text() | st.lists(st.sampled_from(OUTPUT.split("\n")) | st.text(max_size=5), max_size=40).map("\n".join))
def test_nothing_makes_it_fail(text: str) -> None:
    frames = parse_frames(text)
    assert all(
        frame["kind"] in ("result", "screenshot", "text", "done", "skillResult", "malformed") for frame in frames
    )
    numbers = [frame["line"] for frame in frames]
    assert numbers == sorted(set(numbers))
    lines = text.split("\n")
    assert all(kind_of(lines[frame["line"] - 1]) for frame in frames)


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()))
def test_results_come_back_as_they_were_printed(result: dict[str, object]) -> None:
    (frame,) = parse_frames(f"{MARK} {json.dumps(result)}\n")
    assert frame["result"] == result
