"""``set``, ``submit`` and ``input``: verbs that the host composes of executions and Android's own ``input``."""

from __future__ import annotations

from clawperator.app.cli.command import Options
from clawperator.app.cli.commands.action import Action, text_of_stdin
from clawperator.app.cli.parsing.common_flags import DISPLAY_FLAG, RESULT_FLAGS
from clawperator.app.cli.parsing.flags import Flag, Word
from clawperator.app.cli.parsing.selectors import (
    CHOICE_FLAGS,
    SELECTOR_FLAGS,
    SELECTOR_FLAGS_BUT_TEXT,
    limits,
    selector,
    used,
)
from clawperator.app.cli.parsing.values import invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.parsing.flags import Declared
    from clawperator.engine.executions.composition import Composition

_AT = Flag("--at", "<x>,<y>", "use this point, in pixels, instead of a node")
_TO = Flag("--to", "<x>,<y>", "end at this point, in pixels")
_TEXT = Flag("--text", "<value|->", "the text; - reads it from stdin")


class Set(Action):
    types = True
    usage = "<selector> (--checked true|false | --text <value>) [options]"
    required = "a selector, and --checked true|false or --text <value>"
    notes = (
        "A composition: a snapshot; one click or one entry of text, only if the state differs; snapshots until the state is as\n"
        "wanted, for 2 seconds. result.changed says whether anything was done. Running it again changes nothing. --checked takes\n"
        "the label of a switch as well: the row that the click goes to must hold one checkable node. Without --checked, --text is the\n"
        "new text: find the field by another attribute or with --selector. A password is verified on the stock backend only, by its length."
    )
    examples = (
        "--text 'Dark theme' --checked true",
        "--id com.example:id/name --text 'Ada Lovelace'",
    )
    flags = (
        *SELECTOR_FLAGS_BUT_TEXT,
        Flag("--checked", "<true|false>", "switch the node on or off", choices=("true", "false", "on", "off")),
        _TEXT,
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> Composition:
        from clawperator.engine.executions import verbs

        switched = options.checked is not None
        matcher = self.need(selector(options, text=switched))
        if switched:
            return verbs.set_checked(matcher, checked=options.checked in ("true", "on"))
        return verbs.set_text(matcher, _given(self.need(options.text)))


class Submit(Action):
    types = True
    usage = "[<selector> --text <value>] [options]"
    notes = (
        "A composition: types the text into the field if both are given, takes a snapshot, presses Enter through Android's input,\n"
        "and takes snapshots until the screen differs, for 2 seconds. If nothing changes, it fails with VERIFY_FAILED. The Operator\n"
        "app has no Enter key; result.submittedBy says what pressed it. Without arguments, a field must have the focus."
    )
    examples = ("", "--id com.example:id/search --text tea")
    flags = (*SELECTOR_FLAGS_BUT_TEXT, _TEXT, *RESULT_FLAGS)

    def payload(self, options: Options) -> Composition:
        from clawperator.engine.executions.verbs import submit

        given, field = used(options, SELECTOR_FLAGS_BUT_TEXT), selector(options, text=False)
        if given and options.text is None:
            raise invalid(f"submit with {given} requires --text", "--text")
        if options.text is not None and not given:
            raise invalid("submit with --text requires a selector of the field", "--text")
        return submit(field, text=None if options.text is None else _given(options.text))


def _given(text: str) -> str:
    return text_of_stdin() if text == "-" else text


class InputKey(Action):
    usage = "<key> [options]"
    required = "<key>"
    notes = "The key is the name of an Android key code, with or without KEYCODE_, or its number. An unknown name is refused."
    examples = ("ENTER", "KEYCODE_VOLUME_UP", "66")
    flags = (
        Word("key", "name or number of the key", suggest=("ENTER", "TAB", "DEL", "BACK", "HOME", "WAKEUP")),
        DISPLAY_FLAG,
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> Composition:
        from clawperator.engine.executions.shell_input import key

        return key(self.need(options.key), display=options.display or 0)


class InputText(Action):
    types = True
    usage = "(<text> | --text <value|->) [options]"
    required = "<text>"
    notes = (
        "Types into the focused field with key events: printable ASCII without a literal %s. Other text is refused with\n"
        "TEXT_NOT_DELIVERED before anything is sent. The text is added to the field's content; set and type replace it."
    )
    examples = ("'hello world'", "--text - < text.txt")
    flags = (Word("words", "text to type"), _TEXT, DISPLAY_FLAG, *RESULT_FLAGS)

    def payload(self, options: Options) -> Composition:
        from clawperator.engine.executions.shell_input import text

        if options.words is not None and options.text is not None:
            raise invalid("pass the text as an argument OR via --text, not both")
        words = _given(self.need(options.text if options.words is None else options.words))
        return text(words, display=options.display or 0)


class Gesture(Action):
    """Base of what ``input`` does at a point: ``kind`` is its name in ``shell_input.gesture``."""

    kind = ""
    usage = "(<selector> | --at <x>,<y>) [options]"
    required = "a selector or --at <x>,<y>"
    notes = (
        "A selector is resolved by one snapshot of the Operator to the centre of the visible part of its first match; a point works\n"
        "without the Operator app. Points outside the screen are refused, and nothing is sent."
    )
    examples: tuple[str, ...] = ("--text Save", "--at 540,1200")
    flags: tuple[Declared, ...] = (*SELECTOR_FLAGS, *CHOICE_FLAGS, _AT, DISPLAY_FLAG, *RESULT_FLAGS)

    def payload(self, options: Options) -> Composition:
        from clawperator.engine.executions.shell_input import gesture
        from clawperator.engine.hierarchy.queries import read_point

        matcher = selector(options)
        self.need(matcher if options.at is None else options.at)
        if options.at is not None and (given := used(options, (*SELECTOR_FLAGS, *CHOICE_FLAGS))):
            raise invalid(f"use {given} OR --at, not both")
        at = None if options.at is None else read_point(options.at, "--at")
        if _TO in self.flags:
            self.need(options.to)
        end = getattr(options, "to", None)
        to = None if end is None else read_point(end, "--to")
        duration = getattr(options, "duration_ms", None)
        display, limited = options.display or 0, limits(options)
        return gesture(self.kind, at, matcher=matcher, to=to, duration_ms=duration, display=display, limits=limited)


def _duration(what: str, default: int) -> Flag:
    return Flag("--duration-ms", "<ms>", f"{what} for this long [{default}]", bounds=(1, 20_000))


class InputTap(Gesture):
    kind = "tap"


class InputLongPress(Gesture):
    kind = "long_press"
    flags = (*SELECTOR_FLAGS, *CHOICE_FLAGS, _AT, _duration("hold", 800), DISPLAY_FLAG, *RESULT_FLAGS)


class InputSwipe(Gesture):
    kind = "swipe"
    usage = "(<selector> | --at <x>,<y>) --to <x>,<y> [options]"
    required = "a selector or --at <x>,<y>, and --to <x>,<y>"
    examples = ("--at 540,1800 --to 540,600", "--id com.example:id/card --to 0,900 --duration-ms 200")
    flags = (*SELECTOR_FLAGS, *CHOICE_FLAGS, _AT, _TO, _duration("move", 300), DISPLAY_FLAG, *RESULT_FLAGS)


class InputDrag(InputSwipe):
    kind = "drag"
    notes = f"Holds before it moves, as for dragging an item.\n{Gesture.notes}"
    flags = (*SELECTOR_FLAGS, *CHOICE_FLAGS, _AT, _TO, _duration("move", 1_000), DISPLAY_FLAG, *RESULT_FLAGS)
