"""``action``: one action as one execution, described by flags instead of a payload file."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import RESULT_FLAGS
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.app.cli.parsing.selectors import (
    CHOICE_FLAGS,
    LIMIT_FLAGS,
    SELECTOR_FLAGS,
    SELECTOR_FLAGS_BUT_TEXT,
    limits,
    selector,
    used,
)
from clawperator.app.cli.parsing.values import invalid, json_object, number, text_value
from clawperator.app.cli.parsing.verb_flags import flag_of
from clawperator.app.cli.payload_file import read_bytes
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions import build, opening
from clawperator.engine.verbs import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clawperator.app.cli.parsing.flags import Declared
    from clawperator.engine.executions.composition import Composition


_CLICK_TYPE_FLAG = flag_of(catalogue.CLICK_TYPE)
_TEXT_FLAGS = tuple(map(flag_of, (catalogue.VALIDATOR, catalogue.PATTERN, catalogue.ALL)))
"""How `read` reads nodes, not rows."""
POINT_FLAG = Flag("--coordinate", ("<x>", "<y>"), "click this point in pixels instead of a node", bounds=(0, 2**31 - 1))
CLICK_FLAG = switch("--click", "click the node when found")
SCROLL_FLAGS = (
    *map(flag_of, (catalogue.DIRECTION, catalogue.DISTANCE, catalogue.SETTLE)),
    *LIMIT_FLAGS,
)

WAIT_NOTES = (
    "--gone, --text-changes and --app are compositions: the host repeats a snapshot, for 10 seconds unless the time limit says\n"
    "otherwise, and fails with VERIFY_FAILED."
)


class Action(Command):
    """Base: subclasses build the payload; ``required`` names the form that USAGE errors quote."""

    required = ""
    own_payload = True
    types = False
    """Takes a text to type, which may come from stdin."""

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        """Build the execution of this one action, or the composition of the command."""
        raise NotImplementedError

    def run(self, options: Options) -> Answer:
        from clawperator.app.cli.short_ids import checked, short_ids

        short = short_ids(options)
        if short and self.types:
            given = vars(options)
            given |= {name: text_of_stdin() for name in ("words", "text") if given.get(name) == "-"}
            short = {} if "-" in (options.text, given.get("words")) else short  # a typed dash would be read again
        payload = checked(self.payload, options) if short else self.payload(options)
        from clawperator.app.cli.execution import execute

        return execute(payload, options, short=short, make=self.payload)

    def need(self, value: Any) -> Any:
        """Return ``value``, or raise the USAGE error that names what is missing."""
        if value is None:
            raise self.missing(self.required)
        return value


NAVIGATION_FLAGS = (flag_of(catalogue.NO_WAIT), flag_of(catalogue.NAVIGATION))


def navigation(options: Options) -> dict[str, Any]:
    """Return how ``open_app`` waits, by the flags ``NAVIGATION_FLAGS``; empty where nothing was given."""
    given = {"skip_navigation_wait": options.skip_navigation_wait or None}
    given |= {"navigation_timeout_ms": options.navigation_timeout_ms}
    return {name: value for name, value in given.items() if value is not None}


class OpenApp(Action):
    usage = "--app <packageId> [options]"
    required = "--app <packageId>"
    examples = ("--app com.android.settings",)
    flags = (
        Flag("--app", "<packageId>", "open the app with this application id"),
        *NAVIGATION_FLAGS,
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        return opening.open_app_or_name(self.need(options.app), **navigation(options))


class OpenUri(Action):
    usage = "--uri <value> [options]"
    required = "--uri <value>"
    examples = ("--uri https://example.org/",)
    flags = (Flag("--uri", "<value>", "open this URI"), *RESULT_FLAGS)

    def payload(self, options: Options) -> dict[str, Any]:
        return build.open_uri(self.need(options.uri))


class PressKey(Action):
    usage = "--key <back|home|recents> [options]"
    required = "--key <back|home|recents>"
    examples: tuple[str, ...] = ("--key back",)
    flags: tuple[Declared, ...] = (
        Flag("--key", "<back|home|recents>", "press this key", suggest=catalogue.KEYS),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any]:
        return build.press_key(self.need(options.key))


class Click(Action):
    usage = "(--selector <json> | --coordinate <x> <y>) [options]"
    required = "--selector <json> or --coordinate <x> <y>"
    notes = "Selector flags given together must all match. --coordinate requires Operator 0.5 or newer."
    examples = (
        "--text Save",
        "--id com.example:id/save --click-type long_click",
        "--coordinate 540 1200",
    )
    flags = (*SELECTOR_FLAGS, *CHOICE_FLAGS, POINT_FLAG, _CLICK_TYPE_FLAG, *RESULT_FLAGS)

    def click_type(self, options: Options) -> str | None:
        """Return how to click; ``None`` for the device's default."""
        chosen: str | None = options.click_type
        return chosen

    def payload(self, options: Options) -> dict[str, Any]:
        matcher = selector(options)
        point = None if options.coordinate is None else dict(zip("xy", options.coordinate, strict=True))
        if matcher is not None and point is not None:
            raise invalid(f"use {used(options, SELECTOR_FLAGS)} OR --coordinate, not both", "--coordinate")
        self.need(matcher if point is None else point)
        return build.click(matcher, point=point, click_type=self.click_type(options), limits=limits(options))


class Read(Action):
    usage = "(--selector <json> [--validator <name>] | --rows <id|json> --fields <name=id,…>) [options]"
    required = "--selector <json>, or --rows and --fields"
    notes = (
        "--validator version or regex requires Operator 0.3.2 or newer; --all or a container requires Operator 0.5 or newer.\n"
        "--rows is a composition: one snapshot, from which the host reads the rows of a list as result.rows. A row is a child of\n"
        "the container; --fields names its nodes by resource id (the part after ':id/' suffices). result.position says whether the\n"
        "list scrolls, and whether its edges cut the first or the last row."
    )
    examples: tuple[str, ...] = (
        "--id com.example:id/total",
        "--id com.example:id/temp --validator temperature",
    )
    flags = (
        *SELECTOR_FLAGS,
        *_TEXT_FLAGS,
        Flag("--rows", "<id|json>", "read the rows of this list, given by its resource id or a JSON matcher"),
        Flag("--fields", "<name=id,…>", "read these nodes of each row (with --rows)"),
        *CHOICE_FLAGS,
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        if options.rows is not None or options.fields is not None:
            return self._rows(options)
        return build.read_text(
            self.need(selector(options)),
            validator=options.validator,
            pattern=options.validator_pattern,
            every=options.all,
            limits=limits(options),
        )

    def _rows(self, options: Options) -> Composition:
        from clawperator.engine.executions.verbs import read_rows

        if given := used(options, (*SELECTOR_FLAGS, *_TEXT_FLAGS, *CHOICE_FLAGS)):
            raise invalid(f"use --rows and --fields OR {given}, not both", "--rows")
        if options.rows is None or options.fields is None:
            raise self.missing("--rows <id|json> and --fields <name=id,…>", ErrorCode.MISSING_ARGUMENT)
        pairs = [field.partition("=") for field in options.fields.split(",")]
        fields = {name.strip(): value.strip() for name, _, value in pairs}
        if len(fields) < len(pairs) or not all(name and value for name, value in fields.items()):
            raise invalid("--fields must be name=resource-id pairs, separated by commas, each name once", "--fields")
        by_id = None if options.rows.lstrip().startswith("{") else {"resourceId": options.rows}
        return read_rows(by_id or json_object("--rows", options.rows, "container") or {}, fields)


class Type(Action):
    types = True
    usage = "--selector <json> --text <value> [--submit] [--clear] [options]"
    required = "--selector <json> and --text <value>"
    notes = (
        "--text is the text to enter; to find a field by its text, use --selector. --text - reads the text from stdin,\n"
        "so that a password does not appear in the process list: UTF-8; one trailing line end is removed. To type\n"
        "a single '-', pass it on stdin as well. --submit presses Enter once; result.effect says whether the screen was seen to\n"
        "change (changed, none_seen). The command submit waits for a change and fails without one."
    )
    examples: tuple[str, ...] = (
        "--role textfield --text 'hello world'",
        "--id com.example:id/q --text tea --submit",
        "--id com.example:id/password --text - < password.txt",
    )
    flags = (
        *SELECTOR_FLAGS_BUT_TEXT,
        *CHOICE_FLAGS,
        Flag("--text", "<value|->", "enter this text; - reads it from stdin"),
        switch("--submit", "press Enter afterwards"),
        switch("--clear", "empty the field first; typing always replaces its content; requires Operator 0.7 or newer"),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        matcher, text = self.need(selector(options, text=False)), self.need(options.text)
        text = text_of_stdin() if text == "-" else text
        if options.submit:
            from clawperator.engine.executions.verbs import type_and_submit

            return type_and_submit(matcher, text, clear=options.clear, **limits(options))
        return build.enter_text(matcher, text, clear=options.clear, limits=limits(options))


def text_of_stdin() -> str:
    """Standard input as text, without one line end at its end. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED)."""
    try:
        text = read_bytes("-").decode("utf-8-sig")
    except (OSError, ValueError) as exc:
        is_text = not isinstance(exc, UnicodeDecodeError)  # its message quotes what was read
        reason = (getattr(exc, "strerror", None) or exc) if is_text else "it is not valid UTF-8"
        raise invalid(f"--text -: stdin cannot be read: {reason}", "actions.0.params.text") from exc
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


class Wait(Action):
    usage = "(--selector <json> [--gone | --text-changes] | --app <packageId>) [options]"
    required = "--selector <json> or --app <packageId>"
    notes = WAIT_NOTES
    examples: tuple[str, ...] = (
        "--text-contains Welcome --timeout-ms 60000",
        "--text Loading --gone",
        "--app com.android.settings",
    )
    flags = (
        *SELECTOR_FLAGS,
        *CHOICE_FLAGS,
        switch("--gone", "wait until no node matches"),
        switch("--text-changes", "wait until the first match has another text"),
        Flag("--app", "<packageId>", "wait until this app is in front"),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        given = options.timeout_ms
        wait_ms = given if given is None or given <= 2 * build.SPARE_MS else given - build.SPARE_MS
        composed = self.composed(options, wait_ms)
        return composed or build.wait_for_node(self.need(selector(options)), limits=limits(options))

    def composed(self, options: Options, wait_ms: float | None) -> Composition | None:
        """Return the composition of ``--gone``, ``--text-changes`` or ``--app``; ``None`` without these."""
        package = text_value("--app", options.app)
        if sum((options.gone, options.text_changes, package is not None)) > 1:
            raise invalid("use --gone, --text-changes OR --app, not several")
        if not (options.gone or options.text_changes or package):
            return None
        condition = "--app" if package else "--gone" if options.gone else "--text-changes"
        if given := used(options, CHOICE_FLAGS):
            raise invalid(f"use {condition} OR {given}, not both")
        from clawperator.engine.executions import verbs

        if package:
            if given := used(options, SELECTOR_FLAGS):
                raise invalid(f"use {given} OR --app, not both")
            return verbs.wait_app(package, wait_ms=wait_ms)
        wait = verbs.wait_gone if options.gone else verbs.wait_text_changes
        return wait(self.need(selector(options)), wait_ms=wait_ms)


class Scroll(Action):
    usage = "[--direction <direction>] [--container <json>] [options]"
    examples = ("--direction down", """--direction up --container '{"resourceId":"com.example:id/list"}'""")
    flags = (*SCROLL_FLAGS, *RESULT_FLAGS)

    def payload(self, options: Options) -> dict[str, Any]:
        return build.scroll(scroll_params(options))


class ScrollUntil(Action):
    usage = "[selector] [--direction <direction>] [--click] [options]"
    required = "a selector with --click"
    notes = (
        "Without a selector, it scrolls to the end of the container. A selector without --click\n"
        "requires Operator 0.3.2 or newer; --click clicks the node that was found."
    )
    examples = ("--text 'About phone'", "--text 'About phone' --direction down --click", "--max-scrolls 5")
    flags = (
        *SELECTOR_FLAGS,
        *SCROLL_FLAGS,
        CLICK_FLAG,
        _CLICK_TYPE_FLAG,
        *map(flag_of, (catalogue.MAX_SCROLLS, catalogue.SCROLL_TIME, catalogue.NO_CHANGE)),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any]:
        matcher = selector(options)
        return build.scroll_until(
            {
                "matcher": self.need(matcher) if options.click else matcher,
                "clickAfter": options.click or None,
                "clickType": options.click_type,
                "maxScrolls": options.max_scrolls,
                "maxDurationMs": options.max_duration_ms,
                "noPositionChangeThreshold": options.no_position_change_threshold,
                **scroll_params(options),
            }
        )


class ScrollAndClick(Action):
    usage = "--selector <json> [--direction <direction>] [options]"
    required = "--selector <json>"
    examples = ("--text Display", "--text Display --direction down --max-swipes 20")
    flags = (
        *SELECTOR_FLAGS,
        *SCROLL_FLAGS,
        _CLICK_TYPE_FLAG,
        flag_of(catalogue.MAX_SWIPES),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any]:
        params = {
            "target": self.need(selector(options)),
            "clickType": options.click_type,
            "maxSwipes": options.max_swipes,
            **scroll_params(options),
        }
        return build.scroll_and_click(params)


def scroll_params(options: Options) -> dict[str, Any]:
    """Return the parameters of ``SCROLL_FLAGS``; ``None`` where nothing was given."""
    return {
        **limits(options),
        "direction": options.direction,
        "distanceRatio": number("--distance-ratio", options.distance_ratio),
        "settleDelayMs": options.settle_delay_ms,
    }
