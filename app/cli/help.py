"""Help texts, made from the command table and the parsers: plain, or coloured where stdout is a terminal."""

from __future__ import annotations

import re

from clawperator.app.cli.command import build_parser, global_parser, load
from clawperator.app.cli.command_table import COMMANDS, GROUPS, SECTIONS, SHOWN, other_forms, subcommands
from clawperator.app.cli.output import is_terminal
from clawperator.engine.contracts.issues import suggestion
from clawperator.engine.errors import EngineError, ErrorCode, Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import HelpFormatter
    from typing import Any

    from clawperator.app.cli.parsing.parser import Parser

_INTRODUCTION = """\
clawperator drives Android devices deterministically: one payload in, one JSON document out.

usage: clawperator <command> [options]
"""

_CLOSING = """\
More help:
  clawperator help <command>           one command, or a group (…)
  clawperator help options             global options, environment, exit codes
  clawperator help flat                other forms: action click, inspect ui, …
  clawperator help errors [<code>]     all error codes, or details of one
"""

_ENVIRONMENT = """
environment:
  CLAWPERATOR_DEVICE_ID, ANDROID_SERIAL     default for --device-id
  CLAWPERATOR_OPERATOR_PACKAGE              default for --receiver-package
  CLAWPERATOR_OUTPUT                        default for --output: json or pretty
  ADB_PATH                                  path of the adb program, used to start the adb server

Exit codes: 0 everything is done, 1 error, failed step or failed execution, 130 interrupted.
"""
TOPICS = ("options", "flat", "errors")
"""Topics of ``help`` that are no commands."""
_RETRY = {
    Retry.NO: "the same call fails again until the cause is fixed",
    Retry.WAIT: "repeat the same call after a delay; nothing was sent",
    Retry.OBSERVE: "the device may have acted: take a snapshot, then decide",
    Retry.SETUP: "run clawperator doctor or operator setup, then repeat",
}


def help_text(topic: str) -> str:
    """Return the text for command words, a group or one of ``TOPICS``; the full help for no words."""
    if topic in COMMANDS and topic not in GROUPS:
        return _render(build_parser(load(topic)))
    if topic in GROUPS:
        rows = _rows([f"{topic} {word}" for word in subcommands(topic)])
        usage = _filled(f"usage: clawperator {GROUPS[topic]}", len("usage: "))
        return f"{usage}\n\ncommands:\n{rows}\nRun `clawperator help {topic} <command>` for details.\n"
    return {"options": _options_text, "flat": _flat_text, "errors": _errors_text}.get(topic, _full_text)()


_BREAKS = re.compile(r"(\s+(?![^\[\]]*\])(?=(?:[^`]*`[^`]*`)*[^`]*$)|(?<=\|)(?=\w))")
_ROW = re.compile(r"\s*(?:\d+\. |\S+(?: \S+)*?  +)(?=\S)")
"""The first column of a row: an item's number, or words and a gap."""


def wrapped(text: str) -> str:
    """Return ``text`` in lines that fit the terminal (``COLUMNS``, or 80 where there is none).

    The lines of a paragraph flow together. A row continues below its second column; another indented line stays as it is.
    """
    lines: list[str] = []
    prose: list[str] = []
    for line in [*text.split("\n"), ""]:
        row = _ROW.match(line)
        if line and not row and not line.startswith(" "):
            prose.append(line)
            continue
        if prose:
            lines.append(_filled(" ".join(prose)))
            prose = []
        lines.append(_filled(line, row.end()) if row else line)
    return "\n".join(lines[:-1])


def _filled(text: str, hanging: int = 0) -> str:
    """Return one paragraph in lines, broken at blanks outside of brackets and backticks, and behind ``|``."""
    from shutil import get_terminal_size
    from textwrap import TextWrapper

    width = max(get_terminal_size().columns - 1, 20)
    indent = " " * min(hanging, width // 2)
    wrapper = TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    wrapper.wordsep_simple_re = _BREAKS
    return wrapper.fill(text)


def error_facts(name: str) -> dict[str, Any]:
    """Return what is known of one error code. Raises ``USAGE`` for an unknown one."""
    code = ErrorCode.known(name.upper())
    if code is None:
        hint = suggestion(name.upper(), list(ErrorCode)) or "Run `clawperator help errors`."
        raise EngineError(ErrorCode.USAGE, f"Unknown error code: {name}", hint=hint)
    facts = {"code": code.value, "meaning": code.meaning, "hint": code.hint, "retry": code.retry.value}
    return {"ok": True, **facts, "retryMeaning": _RETRY[code.retry], "http": code.http}


def error_text(name: str) -> str:
    """Return the text about one error code. Raises ``USAGE`` for an unknown one."""
    facts = error_facts(name)
    return wrapped(
        f"{facts['code']}\n\n{facts['meaning'][:1].upper()}{facts['meaning'][1:]}.\n\n"
        f"What to do:  {facts['hint']}\n"
        f"Retry:       {facts['retry']}: {facts['retryMeaning']}\n"
        f"HTTP status: {facts['http']}\n"
    )


def _render(parser: Parser) -> str:
    parser.description = wrapped(parser.description)
    parser.usage = _filled(f"usage: {parser.usage}", len("usage: ")).removeprefix("usage: ")
    return parser.format_help(_coloured() if is_terminal() else None, own=True)


def _coloured() -> type[HelpFormatter]:
    from rich_argparse import RawDescriptionRichHelpFormatter

    class Coloured(RawDescriptionRichHelpFormatter):
        """Square brackets are usage notation here, not markup."""

        text_markup = False
        help_markup = False

    return Coloured


def _full_text() -> str:
    sections = "".join(f"{title}\n{_section(first)}\n" for title, first in SECTIONS.items())
    return f"{wrapped(_INTRODUCTION)}\n{sections}{wrapped(_CLOSING)}"


def _section(first: tuple[str, ...]) -> str:
    """Return the rows of a section, and a line that names its other commands."""
    rows = _rows([words for words in SHOWN if words.partition(" ")[0] in first])
    groups = {word for word in first if next(subcommands(word), "")}
    others = [f"{word}\0…" if word in groups else word for word in first if word in groups or word not in SHOWN]
    more = ", ".join(others)
    line = _filled(f"  more: {more}", len("  more: ")).replace("\0", " ")  # a group's dots stay with its name
    return f"{rows}{line}\n" if more else rows


def _options_text() -> str:
    return f"global options{global_parser().format_help().partition('global options')[2]}{wrapped(_ENVIRONMENT)}"


def _flat_text() -> str:
    about = (
        "Other forms of the same actions, for scripts that use them. Their results differ slightly from those of click, type and the "
        "like, where a failed step fails the envelope, and close succeeds."
    )
    return f"{wrapped(about)}\n\n{_rows(other_forms())}\nRun `clawperator help <command>` for details.\n"


def _errors_text() -> str:
    width = max(map(len, ErrorCode)) + 2
    rows = "".join(f"  {code:<{width}}{code.meaning}\n" for code in sorted(ErrorCode))
    return f"Error codes:\n{wrapped(rows)}\nRun `clawperator help errors <code>` for details.\n"


def _rows(commands: list[str]) -> str:
    width = max(map(len, commands), default=0) + 2
    return wrapped("".join(f"  {words:<{width}}{COMMANDS[words][1]}\n" for words in commands))
