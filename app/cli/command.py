"""What a command is: its flags, its help, and a ``run`` that returns an ``Answer``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.output import Answer
    from clawperator.app.cli.parsing.arguments import Parser


class Command:
    """Base of every command; ``words`` are the ones it was called by.

    ``usage`` is the form without the words, ``notes`` a paragraph for the help text, ``examples`` the argument part of
    command lines that work. ``run`` returns an exit code when it has written everything itself (streams, scripts, screens).
    """

    usage = "[options]"
    long_lived = False
    """Whether it stays: then its garbage must be collected, which short commands save themselves."""
    reserved = False
    """Whether the contract names it and it does not exist yet: then none of its flags is refused, only the command."""
    notes = ""
    examples: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("json", "pretty")
    """What ``--output`` may be; the first one is the default."""

    def __init__(self, words: str) -> None:
        self.words = words

    def configure(self, parser: Parser) -> None:
        """Declare flags and positionals beyond the global ones."""

    def run(self, options: Namespace) -> Answer | int:
        raise NotImplementedError
