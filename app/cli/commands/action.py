"""``action``: one action as one execution, described by flags instead of a payload file."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_result_flags, read_bytes
from clawperator.app.cli.parsing.selectors import add_selector_flags, selector
from clawperator.app.cli.parsing.values import integer, invalid, number
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.output import Answer
    from clawperator.app.cli.parsing.arguments import Parser

CLICK_TYPES = ("default", "long_click", "focus")
DIRECTIONS = ("down", "up", "left", "right")
KEYS = ("back", "home", "recents")
VALIDATORS = ("temperature", "version", "regex")
_MOST_MS = 120_000


class Action(Command):
    """Base: subclasses declare their flags and build the payload; ``required`` names the form that USAGE errors quote."""

    required = ""

    def configure(self, parser: Parser) -> None:
        self.declare(parser)
        add_result_flags(parser)

    def declare(self, parser: Parser) -> None:
        """The flags of this action."""
        raise NotImplementedError

    def payload(self, options: Namespace) -> dict[str, Any]:
        """The execution of this one action."""
        raise NotImplementedError

    def run(self, options: Namespace) -> Answer:
        payload = self.payload(options)
        from clawperator.app.cli.execution import execute

        return execute(payload, options)

    def need(self, value: Any) -> Any:
        """``value``, or the USAGE error that names what is missing."""
        if value is None:
            raise EngineError(
                ErrorCode.USAGE,
                f"{self.words} requires {self.required}",
                extra={"example": f"clawperator {self.words} {self.examples[0]}"},
            )
        return value


class OpenApp(Action):
    usage = "--app <packageId> [options]"
    required = "--app <packageId>"
    examples = ("--app com.android.settings",)

    def declare(self, parser: Parser) -> None:
        parser.value("--app", metavar="<packageId>", about="application id")

    def payload(self, options: Namespace) -> dict[str, Any]:
        from clawperator.engine.executions import build

        return build.open_app(self.need(options.app))


class OpenUri(Action):
    usage = "--uri <value> [options]"
    required = "--uri <value>"
    examples = ("--uri https://example.org/",)

    def declare(self, parser: Parser) -> None:
        parser.value("--uri", metavar="<value>", about="open this URI")

    def payload(self, options: Namespace) -> dict[str, Any]:
        from clawperator.engine.executions import build

        return build.open_uri(self.need(options.uri))


class PressKey(Action):
    usage = "--key <back|home|recents> [options]"
    required = "--key <back|home|recents>"
    examples: tuple[str, ...] = ("--key back",)

    def declare(self, parser: Parser) -> None:
        parser.value("--key", metavar="<back|home|recents>", about="press this key", suggest=KEYS)

    def payload(self, options: Namespace) -> dict[str, Any]:
        from clawperator.engine.executions import build

        return build.press_key(self.need(options.key))


class Click(Action):
    usage = "(--selector <json> | --coordinate <x> <y>) [options]"
    required = "--selector <json> or --coordinate <x> <y>"
    notes = "Selector flags given together must all match. --coordinate requires Operator 0.5 or newer."
    examples = (
        """--selector '{"textEquals":"Save"}'""",
        "--id com.example:id/save --click-type long_click",
        "--coordinate 540 1200",
    )

    def declare(self, parser: Parser) -> None:
        add_selector_flags(parser)
        parser.value("--coordinate", metavar=("<x>", "<y>"), about="click this point in pixels instead of a node")
        self.declare_type(parser)

    def declare_type(self, parser: Parser) -> None:
        """The flags of :meth:`click_type`."""
        _add_click_type(parser)

    def click_type(self, options: Namespace) -> str | None:
        """How to click; ``None`` for the device's default."""
        chosen: str | None = options.click_type
        return chosen

    def payload(self, options: Namespace) -> dict[str, Any]:
        matcher = selector(options)
        point = _point(options.coordinate)
        if matcher is not None and point is not None:
            raise invalid("use a selector OR --coordinate, not both", "actions.0.params")
        self.need(matcher if point is None else point)
        from clawperator.engine.executions import build

        return build.click(matcher, point=point, click_type=self.click_type(options))


class Read(Action):
    usage = "--selector <json> [--validator <name>] [options]"
    required = "--selector <json>"
    notes = "--validator version or regex requires Operator 0.3.2 or newer; --all or a container requires Operator 0.5 or newer."
    examples = (
        """--selector '{"resourceId":"com.example:id/total"}'""",
        "--id com.example:id/temp --validator temperature",
    )

    def declare(self, parser: Parser) -> None:
        add_selector_flags(parser)
        parser.value("--validator", metavar="<name>", about=", ".join(VALIDATORS), suggest=VALIDATORS)
        parser.value("--validator-pattern", metavar="<regex>", about="pattern for --validator regex")
        parser.switch("--all", about="read every matching node, not only the first")
        add_selector_flags(parser, container=True)

    def payload(self, options: Namespace) -> dict[str, Any]:
        matcher, container = self.need(selector(options)), selector(options, container=True)
        from clawperator.engine.executions import build

        return build.read_text(
            matcher,
            validator=options.validator,
            pattern=options.validator_pattern,
            every=options.all,
            container=container,
        )


class Type(Action):
    usage = "--selector <json> --text <value> [--submit] [--clear] [options]"
    required = "--selector <json> and --text <value>"
    notes = (
        "--text is the text to enter; to find a field by its text, use --selector. --text - reads the text from stdin,\n"
        "so that a password does not appear in the process list: UTF-8; one trailing line end is removed. To type\n"
        "a single '-', pass it on stdin as well."
    )
    examples: tuple[str, ...] = (
        """--selector '{"role":"textfield"}' --text 'hello world'""",
        "--id com.example:id/q --text tea --submit",
        "--id com.example:id/password --text - < password.txt",
    )

    def declare(self, parser: Parser) -> None:
        add_selector_flags(parser, text=False)
        parser.value("--text", metavar="<value|->", about="enter this text; - reads it from stdin")
        parser.switch("--submit", about="submit the field afterwards")
        parser.switch("--clear", about="clear the field first; typing always replaces its content")

    def payload(self, options: Namespace) -> dict[str, Any]:
        matcher, text = self.need(selector(options, text=False)), self.need(options.text)
        from clawperator.engine.executions import build

        text = _text_of_stdin() if text == "-" else text
        return build.enter_text(matcher, text, submit=options.submit, clear=options.clear)


def _text_of_stdin() -> str:
    """Standard input as text, without one line end at its end. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED)."""
    try:
        text = read_bytes("-").decode()
    except (OSError, ValueError) as exc:
        is_text = not isinstance(exc, UnicodeDecodeError)  # whose message quotes what was read
        reason = (getattr(exc, "strerror", None) or exc) if is_text else "it is not valid UTF-8"
        raise invalid(f"--text -: stdin cannot be read: {reason}", "actions.0.params.text") from exc
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


class Wait(Action):
    usage = "--selector <json> [options]"
    required = "--selector <json>"
    examples: tuple[str, ...] = ("""--selector '{"textContains":"Welcome"}' --timeout-ms 60000""",)

    def declare(self, parser: Parser) -> None:
        add_selector_flags(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        matcher = self.need(selector(options))
        from clawperator.engine.executions import build

        return build.wait_for_node(matcher)


class Scroll(Action):
    usage = "[--direction <direction>] [--container <json>] [options]"
    examples = ("--direction down", """--direction up --container '{"resourceId":"com.example:id/list"}'""")

    def declare(self, parser: Parser) -> None:
        add_scroll_flags(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        params = scroll_params(options)
        from clawperator.engine.executions import build

        return build.scroll(params)


class ScrollUntil(Action):
    usage = "[selector] [--direction <direction>] [--click] [options]"
    required = "a selector with --click"
    notes = (
        "Without a selector, it scrolls to the end of the container. A selector without --click\n"
        "requires Operator 0.3.2 or newer; "
        "--click clicks the node that was found."
    )
    examples = ("--text 'About phone'", "--text 'About phone' --direction down --click", "--max-scrolls 5")

    def declare(self, parser: Parser) -> None:
        add_selector_flags(parser)
        add_scroll_flags(parser)
        parser.switch("--click", about="click the node when found")
        _add_click_type(parser)
        parser.value("--max-scrolls", metavar="<n>", about="scroll at most n times, 1 to 200")
        parser.value("--max-duration-ms", metavar="<ms>", about="scroll for at most this time, 0 to 120000")
        parser.value(
            "--no-position-change-threshold", metavar="<n>", about="stop after n gestures without movement, 1 to 20"
        )

    def payload(self, options: Namespace) -> dict[str, Any]:
        matcher = selector(options)
        params = {
            "matcher": self.need(matcher) if options.click else matcher,
            "clickAfter": options.click or None,
            "clickType": options.click_type,
            "maxScrolls": integer("--max-scrolls", options.max_scrolls, 1, 200),
            "maxDurationMs": integer("--max-duration-ms", options.max_duration_ms, 0, _MOST_MS),
            "noPositionChangeThreshold": integer(
                "--no-position-change-threshold", options.no_position_change_threshold, 1, 20
            ),
            **scroll_params(options),
        }
        from clawperator.engine.executions import build

        return build.scroll_until(params)


class ScrollAndClick(Action):
    usage = "--selector <json> [--direction <direction>] [options]"
    required = "--selector <json>"
    examples = ("""--selector '{"textEquals":"Display"}'""", "--text Display --direction down --max-swipes 20")

    def declare(self, parser: Parser) -> None:
        add_selector_flags(parser)
        add_scroll_flags(parser)
        _add_click_type(parser)
        parser.value("--max-swipes", metavar="<n>", about="swipe at most n times, 1 to 50")

    def payload(self, options: Namespace) -> dict[str, Any]:
        params = {
            "target": self.need(selector(options)),
            "clickType": options.click_type,
            "maxSwipes": integer("--max-swipes", options.max_swipes, 1, 50),
            **scroll_params(options),
        }
        from clawperator.engine.executions import build

        return build.scroll_and_click(params)


def add_scroll_flags(parser: Parser) -> None:
    """What every kind of scrolling takes."""
    parser.value("--direction", metavar="<direction>", about=", ".join(DIRECTIONS), suggest=DIRECTIONS)
    parser.value("--distance-ratio", metavar="<r>", about="scroll by this fraction of the container, 0 to 1")
    parser.value("--settle-delay-ms", metavar="<ms>", about="pause after each gesture, 0 to 10000")
    add_selector_flags(parser, container=True)


def scroll_params(options: Namespace) -> dict[str, Any]:
    """The parameters behind :func:`add_scroll_flags`; ``None`` where nothing was given."""
    return {
        "container": selector(options, container=True),
        "direction": options.direction,
        "distanceRatio": number("--distance-ratio", options.distance_ratio),
        "settleDelayMs": integer("--settle-delay-ms", options.settle_delay_ms, 0, 10_000),
    }


def _add_click_type(parser: Parser) -> None:
    parser.value("--click-type", metavar="<type>", about=", ".join(CLICK_TYPES), suggest=CLICK_TYPES)


def _point(words: list[str] | None) -> dict[str, int] | None:
    if words is None:
        return None
    x, y = (integer("--coordinate", word, 0, 2**31 - 1) for word in words)
    return {"x": x or 0, "y": y or 0}
