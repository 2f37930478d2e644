"""Extract the YAML blocks of a Markdown recipe with their lines (skills.md#file-structure).

A CommonMark parser makes the compiled steps equal to the rendered ones: headings in comments, quotations and fences do not
count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.contracts.issues import shown
from clawperator.engine.contracts.limits import MAX_EXECUTION_ACTIONS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.recipe.location import Block, error
from clawperator.engine.skills.recipe.yaml_bounded import YamlError, load

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_RECIPE_BYTES = 256 * 1024
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARK = "---"
_STEP = re.compile(r"[*_`~\s]*step", re.IGNORECASE)
_HEADING_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Source:
    """A recipe as text: ``steps`` are heading and block in file order, ``stray`` the lines of YAML fences outside of steps."""

    file: str
    frontmatter: Block
    steps: tuple[tuple[str, Block], ...]
    stray: tuple[int, ...]
    text: str


def read_source(text: str, file: str = "") -> Source:
    """Return the blocks of a recipe; ``file`` is its name in errors.

    Raises ``EngineError`` with ``details.{file, line, reason}``: RECIPE_PARSE_FAILED; RECIPE_LIMIT_EXCEEDED (with ``limit`` and
    ``actual``) for a file that is too large or has too many steps.
    """
    _measure(text, file)
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    end = _frontmatter_end(lines, file)
    frontmatter = _block("\n".join(lines[1:end]), 2, "the front matter", file)
    sections, stray = _sections(lines, end + 1, file)
    if not sections:
        raise _refusal(
            file, len(lines), "no steps: a step is a level-2 heading that begins with 'Step', followed by a YAML block"
        )
    if len(sections) > MAX_EXECUTION_ACTIONS:
        raise _too_much(file, sections[MAX_EXECUTION_ACTIONS].line, "steps", MAX_EXECUTION_ACTIONS, len(sections))
    steps = tuple((section.heading, section.block(file)) for section in sections)
    return Source(file, frontmatter, steps, tuple(stray), text)


def _measure(text: str, file: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_RECIPE_BYTES:
        raise _too_much(file, 0, "bytes", MAX_RECIPE_BYTES, size)
    if "\0" in text:
        raise _refusal(file, len(_LINE_END.findall(text, 0, text.index("\0"))) + 1, "a NUL character is not allowed")


def _frontmatter_end(lines: list[str], file: str) -> int:
    """Return the index of the line that closes the front matter."""
    if lines[0].rstrip() != _MARK:
        raise _refusal(file, 1, f"no front matter: the first line must be {_MARK}")
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() == _MARK:
            return index
    raise _refusal(file, 1, f"the front matter has no closing {_MARK} line")


# -- Markdown


class _Fence(NamedTuple):
    line: int
    text: str


class _Section:
    """A heading that begins with Step, and its YAML fences."""

    def __init__(self, heading: str, line: int) -> None:
        self.heading = heading
        self.line = line
        self.fences: list[_Fence] = []

    def block(self, file: str) -> Block:
        named = f"'{shown(self.heading, _HEADING_SHOWN)}'"
        if not self.fences:
            reason = f"the step {named} has no block: add one ```yaml fence that is not indented"
            raise _refusal(file, self.line, reason)
        if len(self.fences) > 1:
            raise _refusal(file, self.fences[1].line - 1, f"the step {named} has more than one yaml block")
        return _block(self.fences[0].text, self.fences[0].line, f"the block of {named}", file)


@cache
def _markdown() -> MarkdownIt:
    """Return a parser of CommonMark's block structure, without inline content and references."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable(["inline", "text_join"])
    return parser.disable("reference")


def _sections(lines: list[str], begin: int, file: str) -> tuple[list[_Section], list[int]]:
    sections: list[_Section] = []
    stray: list[int] = []
    current: _Section | None = None
    for token, heading in _blocks(lines, begin):
        line = begin + (token.map or [0])[0] + 1
        if heading is not None:
            current = _Section(heading, line) if _STEP.match(heading) else None
            sections += [current] if current else []
            continue
        if not token.level and not _closed(token, lines, begin):
            raise _refusal(file, line, "this fence is not closed")
        if not token.level and (inner := _opened_inside(token)):
            reason = "a fence begins inside this one: close this fence first, or use more characters for it"
            raise _refusal(file, line, f"{reason} (line {line + inner})")
        if token.info.strip() != "yaml":
            continue
        if current is None or token.level:
            stray.append(line)
        else:
            current.fences.append(_Fence(line + 1, token.content))
    return sections, stray


def _blocks(lines: list[str], begin: int) -> Iterator[tuple[Token, str | None]]:
    """Yield the level-2 headings with their text, and the fences."""
    tokens = _markdown().parse("\n".join(lines[begin:]))
    for index, token in enumerate(tokens):
        if token.type == "fence":
            yield token, None
        elif token.type == "heading_open" and token.tag == "h2" and not token.level:
            yield token, tokens[index + 1].content


def _closed(token: Token, lines: list[str], begin: int) -> bool:
    first, end = token.map or [0, 0]
    last = lines[begin + end - 1].strip()
    return end - 1 > first and len(last) >= len(token.markup) and not last.strip(token.markup[0])


def _opened_inside(token: Token) -> int:
    """Return the line offset of a nested fence, which suggests a swallowed step; 0 for none."""
    mark = re.escape(token.markup)
    found = re.search(rf"^ {{0,3}}{mark}{mark[-1]}*[ \t]*\w", token.content, re.MULTILINE)
    return token.content.count("\n", 0, found.start()) + 1 if found else 0


# -- YAML


def _block(text: str, line: int, name: str, file: str) -> Block:
    try:
        loaded = load(text)
    except YamlError as exc:
        raise _refusal(file, line + exc.line, f"{name}: {exc.reason}") from None
    if not isinstance(loaded.value, dict):
        raise _refusal(file, line, f"{name} is not a mapping")
    return Block(loaded.value, line, {path: line + at for path, at in loaded.lines.items()})


def _refusal(file: str, line: int, reason: str) -> EngineError:
    details = {"file": file, "line": line, "reason": reason}
    return error(ErrorCode.RECIPE_PARSE_FAILED, reason, file, line, details=details)


def _too_much(file: str, line: int, what: str, limit: int, actual: int) -> EngineError:
    where = {"line": line} if line else {}
    reason = f"more than {limit} {what} ({actual})"
    details = {"file": file, **where, "reason": reason, "limit": limit, "actual": actual}
    return error(ErrorCode.RECIPE_LIMIT_EXCEEDED, f"The recipe has {reason}", file, line, details=details)
