"""Help texts, made from the command table and the parsers: plain, or coloured where stdout is a terminal."""

from __future__ import annotations

from clawperator.app.cli.arguments import Parser, add_globals, build_parser
from clawperator.app.cli.output import is_terminal
from clawperator.app.cli.table import COMMANDS, GROUPS, load, subcommands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import HelpFormatter

_INTRODUCTION = """\
clawperator drives Android devices, deterministically: one payload in, one JSON document out.

usage: clawperator <command> [options]
"""

_CLOSING = """\
environment:
  CLAWPERATOR_DEVICE_ID, ANDROID_SERIAL     the device where no --device-id is given
  CLAWPERATOR_OPERATOR_PACKAGE              the Operator app where no --receiver-package is given
  ADB_PATH                                  the adb program, to start a server where none runs

examples:
  clawperator demo
  clawperator devices
  clawperator observe snapshot --output pretty
  clawperator execute --execution plan.json --validate-only

Exit codes: 0 success, 1 error or failed execution, 130 interrupted.
`clawperator help <command>` explains a command.
"""


def help_text(topic: str) -> str:
    """The text for command words or a group; the full help for no words."""
    if topic in COMMANDS and topic not in GROUPS:
        return _render(build_parser(load(topic)))
    if topic in GROUPS:
        return _group_text(topic)
    return _full_text()


def _render(parser: Parser) -> str:
    if is_terminal():
        parser.formatter_class = _coloured()
    return parser.format_help()


def _coloured() -> type[HelpFormatter]:
    from rich_argparse import RawDescriptionRichHelpFormatter

    class Coloured(RawDescriptionRichHelpFormatter):
        """Square brackets are usage notation here, not markup."""

        text_markup = False
        help_markup = False

    return Coloured


def _full_text() -> str:
    parser = Parser("clawperator")
    add_globals(parser)
    options = parser.format_help().partition("global options")[2]
    return f"{_INTRODUCTION}\ncommands:\n{_rows(list(COMMANDS))}\nglobal options{options}\n{_CLOSING}"


def _group_text(group: str) -> str:
    rows = _rows([f"{group} {word}" for word in subcommands(group)])
    return f"usage: clawperator {GROUPS[group]}\n\ncommands:\n{rows}\n`clawperator help {group} <word>` explains one.\n"


def _rows(commands: list[str]) -> str:
    width = max(map(len, commands)) + 2
    return "".join(f"  {words:<{width}}{COMMANDS[words][1]}\n" for words in commands)
