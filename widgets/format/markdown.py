"""Markdown as rows: headings, lists, code and emphasis. Links, pictures and tags stay text.

It covers what a SKILL.md contains, not all of CommonMark; unknown syntax stays as typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from clawperator.widgets.format.lines import Line, Row, Span
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.text.safe import cells, escape, take

MOST_LINES = 2_000
_LONGEST_BLOCK = 8_000
"""Characters of one paragraph; a longer one is cut."""
_TAB = 4

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([^`]*)$")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*$")
_RULE = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,4}[.)])\s+(.*)$")
_QUOTE = re.compile(r"\s{0,3}>\s?(.*)$")
_INLINE = re.compile(r"(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|!?\[([^\]]*)\]\(([^)\s]*)[^)]*\)")


class _TextBlock(NamedTuple):
    """Words to be folded: what stands before the first line and before the others, and the role of the words."""

    text: str
    role: str = "text"
    lead: str = ""
    rest: str = ""
    lead_role: str = "muted"


def markdown_rows(text: str, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """The rows of ``text`` for ``width`` cells, without its front matter."""
    lines = text.expandtabs(_TAB).splitlines()
    body = lines[_front_matter(lines) :]
    yield from _rows(body[:MOST_LINES], width, symbols)
    if len(body) > MOST_LINES:
        yield Row(Line(width).add(f" {len(body) - MOST_LINES:,} more lines", "faint"))


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines at the beginning are metadata."""
    if not lines or lines[0].strip() != "---":
        return 0
    end = next((index for index, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    return 0 if end is None else end + 1


def _rows(lines: Iterable[str], width: int, symbols: Symbols) -> Iterator[Row]:
    fence = ""
    paragraph: list[str] = []
    blank = True  # none before the first line
    for line in lines:
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            else:
                yield _code(line, width, symbols)
            blank = False
            continue
        block, opened, empty = _block(line, width, symbols), _FENCE.match(line), not line.strip()
        if paragraph and (block is not None or opened or empty):
            yield from _folded(_TextBlock(" ".join(paragraph)), width)
            paragraph, blank = [], False
        if opened:
            fence = opened[1]
            if name := opened[2].strip():
                yield Row(Line(width).add(" ").device(name, "faint"))
        elif empty:
            if not blank:
                yield Row(Line(width))
            blank = True
        elif isinstance(block, Row):
            yield block
            blank = False
        elif block is not None:
            yield from _folded(block, width)
            blank = False
        else:
            paragraph.append(line.strip())
    if paragraph:
        yield from _folded(_TextBlock(" ".join(paragraph)), width)


def _block(line: str, width: int, symbols: Symbols) -> _TextBlock | Row | None:
    """A line that stands for itself; ``None`` for a part of a paragraph, a fence and an empty line."""
    if match := _HEADING.match(line):
        return _TextBlock(match[2], "accent" if len(match[1]) == 1 else "strong")
    if _RULE.match(line):
        return Row(Line(width).add(f" {symbols.rule * max(0, width - 2)}", "guide"))
    if match := _ITEM.match(line):
        indent = " " * min(len(match[1]), width // 3)
        sign = symbols.bullet if match[2] in "-*+" else match[2]
        return _TextBlock(match[3], "text", f"{indent}{sign} ", indent + " " * (len(sign) + 1), "key")
    if match := _QUOTE.match(line):
        return _TextBlock(match[1], "muted", f"{symbols.guide} ", f"{symbols.guide} ", "guide")
    if line.lstrip().startswith("|"):
        return Row(Line(width).add(" ").device(line.strip(), "muted"))
    return None


def _code(line: str, width: int, symbols: Symbols) -> Row:
    return Row(Line(width).add(f" {symbols.guide} ", "guide").device(line, "node-text"))


def _folded(block: _TextBlock, width: int) -> Iterator[Row]:
    """The words of a block in as many rows as they need."""
    room = max(8, width - 2 - cells(block.rest))
    line, used, first = Line(width), 0, True

    def begun() -> Line:
        return Line(width).add(" ").add(block.lead if first else block.rest, block.lead_role)

    line = begun()
    for word, role, glued in _words(inline_spans(block.text[:_LONGEST_BLOCK], block.role)):
        for piece in _pieces(word, room):
            gap = 0 if glued or not used else 1
            if used and used + gap + cells(piece) > room:
                yield Row(line)
                first, used, gap = False, 0, 0
                line = begun()
            line.add(" " * gap).add(piece, role)
            used += gap + cells(piece)
    yield Row(line)


def _pieces(word: str, room: int) -> Iterator[str]:
    """A word that is longer than a row, in parts."""
    while cells(word) > room:
        head = take(word, room) or word[:1]
        yield head
        word = word[len(head) :]
    if word:
        yield word


def _words(spans: Iterable[Span]) -> Iterator[tuple[str, str, bool]]:
    """Words with their roles, and whether they follow the one before without a blank."""
    glued = True
    for text, role in spans:
        parts = text.split(" ")
        for index, part in enumerate(parts):
            if index:
                glued = False
            if part:
                yield part, role, glued
                glued = True


def inline_spans(text: str, role: str = "text") -> list[Span]:
    """Code, bold and links within a line, escaped. A link shows where it leads: nothing hides behind a word."""
    spans: list[Span] = []
    at = 0
    for match in _INLINE.finditer(text):
        spans.append((escape(text[at : match.start()]), role))
        if match[2] is not None:
            spans.append((escape(match[2]), "node-id"))
        elif (bold := match[3] or match[4]) is not None:
            spans.append((escape(bold), "strong"))
        else:
            spans.append((escape(match[5]), role))
            if match[6] and match[6] != match[5]:
                spans.append((f" ({escape(match[6])})", "faint"))
        at = match.end()
    spans.append((escape(text[at:]), role))
    return [span for span in spans if span[0]]
