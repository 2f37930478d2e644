"""Texts that people read are plain technical English: words that no technical writer would use are refused.

``pytest -s tests/contracts/test_words.py -k review`` prints every text for a review.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator import engine
from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.command_table import COMMANDS
from clawperator.engine.errors import ErrorCode
from clawperator.engine.text.guide import CLI_GUIDE, MCP_GUIDE
from clawperator.widgets import keys

WORST = re.compile(
    r"\b(anew|somebody|nobody|whoever|wishes|chores|of yours|at work|gave up|for eyes|the story|that there (?:is|are)"
    r"|what disturbs|be content with|not to be reached|there is none|where there is none|come along|told to)\b",
    re.IGNORECASE,
)

PACKAGES = ("doctor", "emulators", "operator", "process", "recordings", "skills")
"""Packages of the engine in which every string of several words is taken for one that a user can see."""
WORST_IN_MESSAGES = re.compile(
    WORST.pattern
    + r"|\b(somebody's|is (?:no|none)\b(?! longer| other| more)|has no words|stands? (?:here|outside|behind|for)|told by|tells?|hears?"
    r"|left out|come to|at once|by itself|all the same|went away|goes away|broke off|says? (?:that|so|nothing)|wrote down|kept back"
    r"|what (?:it|was|is|came|should|the)\b|whatever|in front\b|there is\b|there are\b|is there\b|give (?:it|one|the|at|a)\b|twice over)\b",
    re.IGNORECASE,
)


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string literal that is neither a docstring nor a part of another; ``{}`` stands for a value."""
    inner: set[int] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inner.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def messages(package: str) -> Iterator[tuple[str, str]]:
    """Where a message of an engine package is written, and the message: every string of at least two words."""
    root = Path(next(iter(engine.__path__)))
    for path in sorted((root / package).rglob("*.py")):
        for line, text in literals(path):
            if re.search(r"[A-Za-z]{2,} [A-Za-z{]", text) and "\\" not in text:
                yield f"{path.relative_to(root)}:{line}", text


def texts() -> Iterator[tuple[str, str]]:
    """Where a text is shown, and the text."""
    for words, (_, summary) in COMMANDS.items():
        yield words, summary
        yield f"{words} --help", build_parser(load(words)).format_help()
    for code in ErrorCode:
        yield f"{code} meaning", code.meaning
        yield f"{code} hint", code.hint
    yield "mcp instructions", MCP_GUIDE
    yield "guide", CLI_GUIDE


def test_no_text_has_the_worst_words() -> None:
    assert [(place, found[0]) for place, text in texts() for found in WORST.finditer(text)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_message_of_the_engine_has_the_worst_words(package: str) -> None:
    found = [(place, match[0], text) for place, text in messages(package) for match in WORST_IN_MESSAGES.finditer(text)]
    assert found == []


def test_review_of_every_text() -> None:
    for place, text in (*texts(), *(message for package in PACKAGES for message in messages(package))):
        print(f"{place}: {text}")
        assert text.strip(), place


# -- the console

ROOT = Path(__file__).parents[2]
WORST_ON_SCREENS = re.compile(
    WORST.pattern
    + r"|\b(told by|as it happened|sent from here|look(?:s|ing)? again|looks of|under the cursor|without a word|sign of life"
    r"|goes? round|went well|what runs|the very same|broke off)\b",
    re.IGNORECASE,
)


def labels() -> Iterator[tuple[str, str]]:
    """Labels and tooltips of all keys and menus."""
    for scope, rows in keys.rows():
        yield from ((f"{scope} {row.id}", f"{row.label}: {row.tooltip}") for row in rows)
    for menu, items in keys.MENUS.items():
        yield from ((f"menu {menu} {item.key}", f"{item.label}: {item.tooltip}") for item in items)


def on_screens(part: str) -> Iterator[tuple[str, str]]:
    """String literals of several words in a part of the console, with their places."""
    for path in sorted((ROOT / part).rglob("*.py")):
        for line, text in literals(path):
            if re.search(r"[A-Za-z]{2,} [A-Za-z{]", text) and "\\" not in text:
                yield f"{path.relative_to(ROOT)}:{line}", text


def test_no_label_of_the_console_has_the_worst_words() -> None:
    texts = (*labels(), *(item for item in on_screens("widgets") if item[1] != "gave up"))  # a recorded kind of line
    assert [(place, found[0], text) for place, text in texts for found in WORST_ON_SCREENS.finditer(text)] == []


def test_no_string_of_the_console_has_the_worst_words() -> None:
    texts = on_screens("app/console")
    assert [(place, found[0], text) for place, text in texts for found in WORST.finditer(text)] == []


def test_review_of_every_label() -> None:
    for place, text in (*labels(), *on_screens("widgets"), *on_screens("app/console")):
        print(f"{place}: {text}")
        assert text.strip(), place


# -- names, docstrings and comments

WORST_IN_CODE = re.compile(
    r"(?<![A-Za-z])(?:told|said|sayings?|nobody|whoever|somebody|anew|wishes|chores)(?![A-Za-z])", re.IGNORECASE
)
USER_OF_UNIX = ("engine/logcat/users.py", "engine/text/redact.py")


@pytest.mark.parametrize("part", ["engine", "app", "widgets"])
def test_no_line_of_code_has_the_worst_words(part: str) -> None:
    """A name such as ``told`` makes a reader stop as much as a message does."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / part).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if WORST_IN_CODE.search(line)
    ]
    assert [line for line in found if not line.startswith(USER_OF_UNIX)] == []
