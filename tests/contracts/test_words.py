"""Texts that people read are plain technical English: words that no technical writer would use are refused.

``pytest -s tests/contracts/test_words.py -k review`` prints every text for a review.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clawperator.app.cli.parsing.arguments import build_parser
from clawperator.app.cli.table import COMMANDS, load
from clawperator.app.mcp.instructions import INSTRUCTIONS
from clawperator.engine.errors import ErrorCode

WORST = re.compile(
    r"\b(anew|somebody|nobody|whoever|wishes|chores|of yours|at work|gave up|for eyes|the story|that there (?:is|are)"
    r"|what disturbs|be content with|not to be reached|there is none|where there is none|come along|told to)\b",
    re.IGNORECASE,
)


def texts() -> Iterator[tuple[str, str]]:
    """Where a text is shown, and the text."""
    for words, (_, summary) in COMMANDS.items():
        yield words, summary
        yield f"{words} --help", build_parser(load(words)).format_help()
    for code in ErrorCode:
        yield f"{code} meaning", code.meaning
        yield f"{code} hint", code.hint
    yield "mcp instructions", INSTRUCTIONS


def test_no_text_has_the_worst_words() -> None:
    assert [(place, found[0]) for place, text in texts() for found in WORST.finditer(text)] == []


def test_review_of_every_text() -> None:
    for place, text in texts():
        print(f"{place}: {text}")
        assert text.strip(), place
