from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.widgets.text.safe import cells, escape, pictured, shorten, take, wrap

ANYTHING = st.text(st.characters(codec=None), max_size=300)


def test_plain_text_is_left_alone() -> None:
    assert escape("Wi-Fi, 84 %") == "Wi-Fi, 84 %"
    assert escape("中文 ñ ü") == "中文 ñ ü"


def test_control_characters_become_pictures() -> None:
    assert escape("\x1b[31mred\x07\x00") == "␛[31mred␇␀"
    assert escape("a\tb\r\nc\x7f") == "a␉b␍␊c␡"
    assert escape("\x85\x9b") == "⟨U+0085⟩⟨U+009B⟩"


@given(ANYTHING)
def test_what_is_edited_keeps_its_length_and_shows_everything(text: str) -> None:
    shown = pictured(text)
    assert len(shown) == len(text)
    assert all(unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for character in shown)


def test_bidi_and_invisible_characters_are_named() -> None:
    assert escape("user\u202egpj.exe") == "user⟨U+202E⟩gpj.exe"
    assert escape("\u2066x\u2069\u200b\ufeff") == "⟨U+2066⟩x⟨U+2069⟩⟨U+200B⟩⟨U+FEFF⟩"
    assert escape("\ue5c4") == "⟨U+E5C4⟩"
    assert escape("\ud800") == "⟨U+D800⟩"


def test_emoji_are_taken_apart_so_that_their_width_is_certain() -> None:
    assert escape("❤️") == "❤"
    assert escape("👩‍👧") == "👩👧"
    assert escape("a\u200db 👩\u200d") == "a⟨U+200D⟩b 👩⟨U+200D⟩", "where it joins nothing it is shown"


def test_heaps_of_accents_are_counted() -> None:
    assert escape("z" + "\u0301" * 60) == "z" + "\u0301" * 4 + "⟨+56 marks⟩"


def test_markup_stays_text() -> None:
    assert escape("[bold]x[/bold] $state-fail") == "[bold]x[/bold] $state-fail"


def test_what_fits_is_whole_and_what_does_not_is_cut() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdef", 5) == "abcd…"
    assert shorten("abcdef", 1) == "…"
    assert shorten("abcdef", 0) == ""


def test_a_long_rest_is_counted() -> None:
    text = "lorem ipsum " * 17_000
    cut = shorten(text, 60)
    assert cells(cut) <= 60
    head, _, rest = cut.partition("… ")
    assert rest == f"{len(text) - len(head):,} more"


def test_a_wide_character_is_never_halved() -> None:
    assert shorten("中文字幕", 5) == "中文…"
    assert take("中文", 3) == "中"


@pytest.mark.parametrize("text", ["x" * 200_000, "wört ✓ " * 28_000], ids=["ascii", "wide"])
def test_wrapping_looks_at_a_long_text_once(text: str) -> None:
    """Not at the whole rest for each line of it: that took seconds."""
    began = time.perf_counter()
    wrap(text, 80, limit=2_600)
    assert time.perf_counter() - began < 1


def test_wrapping_breaks_at_blanks_and_counts_what_is_left_out() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("android.widget.LinearLayout", 20) == ["android.widget.", "LinearLayout"]
    assert wrap("first\nsecond", 20) == ["first␊", "second"]
    lines = wrap("x" * 10_000, 10, limit=5)
    assert len(lines) == 5
    assert lines[-1].startswith("… ")


@given(ANYTHING)
def test_nothing_that_a_terminal_would_act_on_survives(text: str) -> None:
    for character in escape(text):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        assert character.isprintable() or character.isspace()
    escape(text).encode()


@given(ANYTHING)
def test_escaping_an_escaped_text_changes_nothing(text: str) -> None:
    assert escape(escape(text)) == escape(text)


@given(ANYTHING, st.integers(1, 60))
def test_a_cut_never_exceeds_its_width(text: str, width: int) -> None:
    assert cells(shorten(text, width)) <= width


@given(ANYTHING, st.integers(2, 40))
def test_a_folded_line_never_exceeds_its_width(text: str, width: int) -> None:
    assert all(cells(line) <= width for line in wrap(text, width))


@given(st.text(st.characters(codec=None), max_size=80))
def test_folding_loses_nothing(text: str) -> None:
    shown = "".join(wrap(text, 20)).replace(" ", "")
    assert shown == "".join(escape(part) for part in text.splitlines(keepends=True)).replace(" ", "")
