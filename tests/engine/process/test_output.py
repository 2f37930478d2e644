"""Output within bounds: whatever the pieces in which it comes, the same lines, the same beginning, the same finds."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.process.output import MAX_LINE, BoundedOutput, LineSplitter, StreamSearch, TerminalLines

BYTES = st.binary(max_size=300) | st.text(alphabet="aé✓😀\r\n", max_size=100).map(str.encode)
CUTS = st.lists(st.integers(0, 300), max_size=10)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[low:high] for low, high in pairwise(edges)]


@given(BYTES, CUTS)
def test_lines_do_not_depend_on_the_pieces(data: bytes, cuts: list[int]) -> None:
    lines = LineSplitter()
    reported = [line for piece in pieces(data, cuts) for line in lines.add(piece)]
    reported += lines.end()
    *whole, rest = data.decode(errors="replace").split("\n")
    assert reported == [line.removesuffix("\r") for line in whole] + ([rest] if rest else [])


def test_an_endless_line_is_reported_in_pieces_and_not_kept() -> None:
    lines = LineSplitter()
    reported = [line for _ in range(100) for line in lines.add(b"x" * 1000)]
    assert reported == ["x" * MAX_LINE] * (100_000 // MAX_LINE)
    assert sum(map(len, [*reported, *lines.end()])) == 100_000


@given(BYTES, CUTS, st.integers(1, 40), st.integers(1, 40))
def test_kept_are_the_beginning_and_the_end(data: bytes, cuts: list[int], head: int, tail: int) -> None:
    kept = BoundedOutput(head, tail)
    for piece in pieces(data, cuts):
        kept.add(piece)
    assert kept.total == len(data)
    assert kept.truncated == (len(data) > head)
    if not kept.truncated:
        assert (kept.beginning, kept.ending) == (data.decode(errors="replace"), "")
    assert len(kept.beginning) <= head
    assert len(kept.ending) <= tail


@given(st.text(alphabet="aé✓😀", max_size=60), st.integers(1, 30), st.integers(4, 30))
def test_no_character_is_cut_in_two(text: str, head: int, tail: int) -> None:
    kept = BoundedOutput(head, tail)
    kept.add(text.encode())
    assert text.startswith(kept.beginning)
    whole = len(text.encode()) <= head + tail  # then the end begins where the beginning was cut
    assert whole or text.endswith(kept.ending)


def test_only_the_end_is_kept_where_there_is_no_beginning() -> None:
    kept = BoundedOutput(0, 10)
    for number in range(1000):
        kept.add(b"%d\n" % number)
    assert kept.ending == "7\n998\n999\n"
    assert kept.beginning == ""


@given(BYTES, CUTS, st.text(alphabet="aé✓\n", max_size=4))
def test_a_text_is_found_across_pieces(data: bytes, cuts: list[int], wanted: str) -> None:
    search = StreamSearch(wanted)
    for piece in pieces(data, cuts):
        search.add(piece)
    assert search.found == (wanted.encode() in data)


def test_bytes_that_are_no_text_are_searched_for_as_the_shell_gave_them() -> None:
    search = StreamSearch(b"\xff!".decode(errors="surrogateescape"))
    search.add(b"..\xff")
    assert not search.found
    search.add(b"!..")
    assert search.found


def terminal_lines(*pieces: bytes) -> list[str]:
    lines = TerminalLines()
    return [line for piece in (*pieces, b"\n") for line in lines.add(piece)]


def test_lines_that_are_written_over_each_other() -> None:
    """Every step that arrives by itself is told; of those that arrive together, only the last, as a terminal shows it."""
    lines = terminal_lines(b"[=] 10%\r", b"[==] 20%\r[===] 30%\r", b"[====] 1", b"00%\ndone\r\n\n  \nend")
    assert lines == ["[=] 10%", "[===] 30%", "[====] 100%", "done", "end"]


@given(st.lists(st.binary(max_size=50)))
def test_no_output_is_too_odd_for_a_terminal(pieces: list[bytes]) -> None:
    assert all(line.strip() for line in terminal_lines(*pieces))


def test_what_is_kept_of_a_talkative_program() -> None:
    beginning, end = BoundedOutput(1 << 20), BoundedOutput(0, 1 << 16)
    for number in range(100):
        beginning.add(f"{number:<65536}".encode())
        end.add(f"{number:<65536}".encode())
    assert (len(beginning.beginning), beginning.beginning[:1]) == (1 << 20, "0")
    assert (len(end.ending), end.ending[:2]) == (1 << 16, "99")
