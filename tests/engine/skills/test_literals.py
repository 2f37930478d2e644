"""What is taken for somebody's own, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.skills.literals import EMAIL, PATH, PHONE, SERIAL, WORDS, Literal, literals
from tests.support import table

OURS = {
    "0123456789abcdef": SERIAL,
    "ABCDEF0123456789": SERIAL,
    "emulator-5554": SERIAL,
    "adb-R5CT100ABC-x1y2z3._adb-tls-connect._tcp": SERIAL,
    "jane.doe@example.com": EMAIL,
    "j_d+shop@mail.example.co.uk": EMAIL,
    "+49 171 1234567": PHONE,
    "+15551234567": PHONE,
    "(555) 123-4567": PHONE,
    "555-123-4567": PHONE,
    "0171 1234567": PHONE,
    "/home/jane": PATH,
    "/Users/jane.doe": PATH,
    "C:\\Users\\jane": PATH,
    "C:\\\\Users\\\\jane": PATH,
}


@table(("text", "code"), OURS.items())
@table(("before", "after"), [("", ""), ("call ", " now"), ('"', '"'), ("(", ")"), ("a: ", ",\nb")])
def test_found_whatever_stands_around_it(text: str, code: str, before: str, after: str) -> None:
    start = len(before)
    assert literals(f"{before}{text}{after}") == [Literal(code, start, start + len(text))]


@table(
    "text",
    [
        "",
        "git@github.com:owner/repository.git",
        "drawable/icon@2x.png",
        "https://shop.example/home/feed",
        "com.example.app:id/home",
        "2026-03-01T10:00:00+00:00",
        "2026-03-01 10:00:00+0000",
        "[0,63][1080,2400]",
        "1700000000000",
        "0123456789",
        "1.2.3",
        "10.0.2.2",
        "emulator",
        "emulator-name",
        "task-0123456789ab",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "~/.clawperator/skills",
        "${inputs.phone}",
        "@decorator",
        "0x0123456789abcdef",
    ],
)
def test_no_ones(text: str) -> None:
    assert literals(text) == []


def test_every_kind_has_words() -> None:
    assert set(WORDS) == set(OURS.values())


def test_in_the_order_of_the_text() -> None:
    text = "emulator-5554, jane@example.com and /home/jane/x, +49 171 1234567"
    assert [(found.code, text[found.start : found.end]) for found in literals(text)] == [
        (SERIAL, "emulator-5554"),
        (EMAIL, "jane@example.com"),
        (PATH, "/home/jane"),
        (PHONE, "+49 171 1234567"),
    ]


@given(st.text(alphabet="0123456789abcdefgh/:\\.@+-() \nmUsershoe", max_size=300))
def test_findings_are_in_order_apart_and_inside(text: str) -> None:
    end = 0
    for found in literals(text):
        assert end <= found.start < found.end <= len(text)
        end = found.end


@given(st.text(max_size=100), st.sampled_from(sorted(OURS)), st.text(max_size=100))
def test_any_neighbours_but_glued_ones(before: str, literal: str, after: str) -> None:
    codes = {found.code for found in literals(f"{before}\n{literal}\n{after}")}
    assert OURS[literal] in codes


@pytest.mark.parametrize("unit", ["a", "1", "+1", "a@", "a.", "/home/", "0 ", "(555) ", "adb-aaaaaa", "é"])
def test_long_texts_are_no_trap(unit: str) -> None:
    """A pattern that tries everything at every place would not come to an end here."""
    literals(unit * 100_000)
