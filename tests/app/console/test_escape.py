"""Escape on a terminal: a key of its own at once, and the begin of a sequence however the sequence is cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message

from clawperator.app.console.textual_internals import EscapeParser
from tests.support import table

MOUSE = ("\x1b[<0;10;5M", "\x1b[<0;10;5m", "\x1b[<35;120;40M", "\x1b[<64;1;1M", "\x1b[<0;-1;5M", "\x1b[M !!")
KITTY = ("\x1b[27u", "\x1b[13u", "\x1b[97;;97u", "\x1b[97;5u", "\x1b[13;3u", "\x1b[57441;2u", "\x1b[1;5D", "\x1b[3;2~")
REPORTS = ("\x1b[?2026;2$y", "\x1b[?2048;0$y", "\x1b[I", "\x1b[O", "\x1b[48;40;120;800;1200t")
UNKNOWN = (
    "\x1b[?1;2c",
    "\x1b]11;rgb:0000/0000/0000\x1b\\",
    "\x1b]11;rgb:0/0/0\x07",
    "\x1bP1$r0m\x1b\\",
    "\x1b_Gi=1;OK\x1b\\",
)
PASTES = ("\x1b[200~some text\x1b[201~", "\x1b[200~\rq\nctrl\x1b[201~")
KEYS = tuple(
    sequence for sequence in ANSI_SEQUENCES_KEYS if sequence.startswith(("\x1b[", "\x1bO")) and len(sequence) > 2
)
SEQUENCES = (*KEYS, *MOUSE, *KITTY, *REPORTS, *UNKNOWN, *PASTES)


def read(parts: Iterable[str], *, gap: bool) -> list[Message]:
    """What comes of these reads; ``gap``: more than 25 ms lie between them."""
    parser = EscapeParser(XTermParser(), quiet=lambda: gap)
    return [message for part in parts for message in parser.feed(part)]


def shown(messages: Sequence[Message]) -> list[str]:
    return [repr(message) for message in messages]


def keys(messages: Sequence[Message]) -> list[str]:
    return [message.key for message in messages if isinstance(message, events.Key)]


def cuts(text: str, places: Iterable[int]) -> list[str]:
    edges = [0, *sorted({place for place in places if 0 < place < len(text)}), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@table("sequence", [*KEYS, *MOUSE, *KITTY, *REPORTS, *PASTES])
def test_a_whole_sequence_means_what_textual_takes_it_for(sequence: str) -> None:
    assert shown(read([sequence], gap=True)) == shown(list(XTermParser().feed(sequence)))


@given(
    st.lists(st.sampled_from([*SEQUENCES, "j", "q", "\r", "text"]), min_size=1, max_size=4),
    st.lists(st.integers(1, 80)),
)
def test_where_a_sequence_is_cut_does_not_matter(typed: list[str], places: list[int]) -> None:
    text = "".join(typed)
    assert shown(read(cuts(text, places), gap=False)) == shown(read([text], gap=False))


@given(st.sampled_from(SEQUENCES), st.integers(1, 40))
def test_the_late_rest_of_a_sequence_is_not_typed(sequence: str, place: int) -> None:
    """A slow connection: Escape may be reported, but nothing of the sequence acts or is text."""
    parts = cuts(sequence, [place])
    whole = list(XTermParser().feed(sequence)) if sequence not in UNKNOWN else []
    late = read(parts, gap=True)
    if shown(late) != shown(whole):
        assert keys(late) == ["escape"]
        assert not any(isinstance(message, events.MouseEvent) for message in late)
    assert keys(read([*parts, "j"], gap=True)) == [*keys(late), "j"]


@given(st.characters(min_codepoint=32, exclude_characters="\x7f[O", exclude_categories=("Cs", "Cc")), st.booleans())
def test_alt_and_a_key_are_escape_and_the_key(character: str, gap: bool) -> None:
    pressed = keys(list(XTermParser().feed(character)))
    parser = EscapeParser(XTermParser(), quiet=lambda: True)
    assert keys([*parser.feed("\x1b" + character), *parser.feed("j")]) == ["escape", *pressed, "j"]
    assert keys(read(["\x1b", character, "j"], gap=gap)) == ["escape", *pressed, "j"]


def test_escape_and_enter_at_once_are_escape() -> None:
    assert keys(read(["\x1b\r"], gap=True)) == ["escape"]
    assert keys(read(["\x1b", "\r"], gap=False)) == ["escape"]
    assert keys(read(["\x1b", "\r"], gap=True)) == ["escape", "enter"]
    assert keys(read(["\x1b\x1b", "\r\r"], gap=False)) == ["escape", "escape", "enter"]


def test_a_bracket_after_escape_is_a_key_unless_the_rest_of_a_sequence_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("clawperator.app.console.textual_internals.time.monotonic", lambda: now)
    parser = EscapeParser(XTermParser(), quiet=lambda: True)
    assert keys(list(parser.feed("\x1b["))) == ["escape"]
    assert keys(list(parser.tick())) == []
    now += 1.0
    assert keys(list(parser.tick())) == ["left_square_bracket"]
    assert keys(list(parser.feed("A"))) == ["A"]


@pytest.mark.parametrize("begun", ["\x1b[<35;1", "\x1b]11;rgb:", "\x1b_Gi=1"])
def test_escape_ends_a_sequence_that_never_ends(begun: str) -> None:
    parser = EscapeParser(XTermParser(), quiet=lambda: True)
    assert keys([*parser.feed(begun), *parser.feed("\x1b"), *parser.feed("j")]) == ["escape", "j"]


@given(
    st.text(st.sampled_from("\x1b[O<;0123456789AM~$?u\r]P_Gj\x07\\"), min_size=1, max_size=60),
    st.lists(st.integers(1, 60)),
)
def test_keys_are_read_after_any_bytes(text: str, places: list[int]) -> None:
    parser = EscapeParser(XTermParser(), quiet=lambda: True)
    for part in cuts(text, places):
        list(parser.feed(part))
    if "\x1b[200~" not in text:
        end = [*parser.feed("\x1b"), *parser.feed("j")]
        assert keys(end)[-2:] == ["escape", "j"]
