"""Markdown as coloured source. Links, pictures and tags stay as typed: nothing hides where it leads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from clawperator.widgets.format.lines import Line, Row, wrapped

MOST_LINES = 2_000
_MOST_ROWS = 200
"""Rows of one paragraph; a longer one is cut."""
_TAB = 4
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_LEAD = re.compile(r"\s*(?:#{1,6}|[-*+>]|\d{1,4}[.)])\s+(?=\S)|\s*(?=\||-{3}|\*{3}|_{3})")
"""What a line begins with that does not continue a paragraph."""
_INLINE = re.compile(r"(`[^`]+`|\*\*[^*]+\*\*|\]\([^)\s]*\))")
_ROLES = {"`": "node-id", "*": "strong", "]": "faint"}


def markdown_rows(text: str, width: int) -> Iterator[Row]:
    """Yield the rows of ``text`` for ``width`` cells, without its front matter."""
    lines = text.expandtabs(_TAB).splitlines()
    body = lines[_front_matter(lines) :]
    for line, code in _joined(body[:MOST_LINES]):
        if code or not line:
            yield Row(Line(width).add(" ").device(line, "node-text"))
        else:
            lead = found[0] if (found := _LEAD.match(line)) else ""
            sign = lead.strip()
            role = "accent" if sign == "#" else "strong" if sign.startswith("#") else "muted" if sign == ">" else "text"
            indent = f" {lead[: max(1, width // 3)]}"
            for row in wrapped(line[len(lead) :], width, role, lead=indent, lead_role="key", limit=_MOST_ROWS):
                yield Row(_coloured(row.left))
    if len(body) > MOST_LINES:
        yield Row(Line(width).add(f" {len(body) - MOST_LINES:,} more lines", "faint"))


def _front_matter(lines: Sequence[str]) -> int:
    """Return how many lines at the beginning are metadata."""
    if not lines or lines[0].strip() != "---":
        return 0
    end = next((index for index, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    return 0 if end is None else end + 1


def _joined(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, the lines of a paragraph as one, and whether it is code. No blank line is first."""
    fence, paragraph, begun = "", "", False
    for line in lines:
        opened = _FENCE.match(line)
        plain = not fence and not opened and line.strip() and not _LEAD.match(line)
        if paragraph and not plain:
            yield paragraph, False
            paragraph = ""
        if plain:
            paragraph = f"{paragraph} {line.strip()}".lstrip()
        elif fence or opened or line.strip() or begun:
            yield line.rstrip(), bool(fence or opened)
        begun = begun or bool(line.strip())
        if opened and (not fence or (line.strip().startswith(fence) and not line.strip().strip(fence[0]))):
            fence = "" if fence else opened[1]
    if paragraph:
        yield paragraph, False


def _coloured(line: Line) -> Line:
    """Return a wrapped row with its code, bold words and links' addresses coloured."""
    coloured = Line(line.width)
    for text, role in line.spans:
        for index, part in enumerate(_INLINE.split(text)):
            coloured.add(part, _ROLES[part[0]] if index % 2 else role)
    return coloured
