"""Commands of verbs that are one action with their arguments as its parameters: all of them is in the catalogue."""

from __future__ import annotations

from clawperator.app.cli.command import Options
from clawperator.app.cli.commands.action import Action
from clawperator.app.cli.flat_profile import Flat
from clawperator.app.cli.parsing.common_flags import RESULT_FLAGS
from clawperator.app.cli.parsing.flags import Word, switch
from clawperator.app.cli.parsing.values import invalid
from clawperator.app.cli.parsing.verb_flags import arguments_of, flags_of, spelled
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.verbs import FIRST_GENERATION
from clawperator.engine.verbs.catalogue import VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class VerbCommand(Flat, Action):
    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.verb = verb = next(verb for verb in VERBS.values() if verb.command == words)
        self.needed = [param for param in verb.arguments if param.need and param.usual is None]
        self.choice = [param for param in verb.arguments if param.name in verb.one_of]
        choice = f"({' | '.join(map(spelled, self.choice))})" if self.choice else ""
        any_node = any(param.name == "selector" and not (param.need or self.choice) for param in verb.arguments)
        selector = "[<selector>]" if any_node else ""
        self.usage = " ".join(filter(None, (*map(spelled, self.needed), choice, selector, "[options]")))
        self.notes = " ".join(filter(None, (verb.about.partition(". ")[2], verb.notes)))
        if verb.since != FIRST_GENERATION and "requires Operator" not in self.notes:
            self.notes = f"{self.notes}\nIt requires Operator {verb.since} or newer.".lstrip()
        self.examples = verb.examples or (" ".join(map(spelled, (*self.needed, *self.choice[:1]))),)
        self.flags = (*flags_of(verb), *RESULT_FLAGS)

    def payload(self, options: Options) -> dict[str, Any]:
        given = arguments_of(self.verb, options, self.words)
        missing = [spelled(param) for param in self.needed if param.wire not in given]
        if missing:
            raise self.missing(" and ".join(missing))
        chosen = [spelled(param) for param in self.choice if param.wire in given]
        if self.choice and not chosen:
            code = ErrorCode.MISSING_ARGUMENT if any(param.word for param in self.choice) else ErrorCode.USAGE
            raise self.missing(" or ".join(map(spelled, self.choice)), code)
        if self.verb.exact and len(chosen) > 1:
            raise invalid(f"{self.words}: use {' OR '.join(chosen)}, not both")
        return build.action(self.verb.name, given)


class Toast(Flat, Action):
    usage = "(<text> [--long] | --cancel) [options]"
    notes = "Shows a short message of the system on the screen. It requires Operator 0.11.3 or newer."
    examples = ("'Step 3 of 5'", "'Done' --long", "--cancel")
    flags = (
        Word("words", "text to show"),
        switch("--long", "show it longer"),
        switch("--cancel", "remove the message"),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any]:
        if options.cancel:
            if options.words is not None or options.long:
                raise invalid("use a text OR --cancel, not both")
            return build.action("cancel_toast", {})
        text = self.argument("the text", options.words)
        return build.action("show_toast", {"text": text, "duration": "long" if options.long else None})
