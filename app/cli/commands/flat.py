"""The flat profile: the classic commands under shorter names (cli.md#commands)."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Answer, Options
from clawperator.app.cli.commands import action, execute, observe
from clawperator.app.cli.flat_profile import Flat
from clawperator.app.cli.parsing.common_flags import CHECK_FLAGS, RESULT_FLAGS
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.selectors import CHOICE_FLAGS, LABEL_FLAGS, SELECTOR_FLAGS, label, limits, selector
from clawperator.app.cli.parsing.values import integer, invalid, text_value
from clawperator.app.cli.payload_file import file_name, is_json_text, read_bytes, unreadable
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build, opening
from clawperator.engine.verbs.catalogue import DIRECTIONS, KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clawperator.engine.executions.composition import Composition

_MOST_MS = 120_000
_LONGEST_SLEEP_MS = 115_000
"""What an execution of 120,000 ms can sleep and still report back."""
_DIRECTION_WORD = Word("way", f"direction to scroll in: {', '.join(DIRECTIONS)}", suggest=DIRECTIONS)


class Exec(Flat, execute.Execute):
    usage = "<json|file|-> [--validate-only | --dry-run] [options]"
    notes = (
        "The payload is JSON text, a file, or '-' for stdin. Text that starts with '{' is JSON; text that starts with '[' is a file if\n"
        "one of that name exists. --payload and --execution are equivalent to the argument."
    )
    examples = ("plan.json", "plan.json --dry-run", "- --timeout 20000 < plan.json")

    def read(self, source: str | None) -> object:
        return read_plan(self.argument("<json-or-file>", source))


class Snapshot(Flat, observe.Snapshot):
    pass


class Screenshot(Flat, observe.Screenshot):
    notes = f"{observe.Screenshot.notes} An empty file is replaced as well."

    def run(self, options: Options) -> Answer:
        options.overwrite = options.overwrite or _is_empty(options.path)
        return super().run(options)


def _is_empty(path: str | None) -> bool:
    """Whether a file is empty: skills save to one that ``mktemp`` created."""
    file = os.path.expanduser(path or "")
    try:
        return os.path.isfile(file) and not os.path.getsize(file)
    except OSError:
        return False


def read_plan(source: str) -> object:
    """Return the parsed JSON of the argument of ``exec`` (cli.md#commands), complete where it has the actions only.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where it cannot be read or is not JSON.
    """
    from clawperator.engine.executions.validate import parse_json

    source = source.strip()
    inline = is_json_text(source)
    try:
        return build.completed(parse_json(source if inline else read_bytes(source)))
    except EngineError as exc:
        where = "" if inline else f" in execution file: {file_name(source)}: {exc.details['reason']}"
        raise EngineError(exc.code, f"Invalid JSON content{where}", hint=exc.hint, details=exc.details) from exc
    except (OSError, ValueError) as exc:
        raise unreadable("Failed to read execution file", source, exc, "JSON text") from exc


class Click(Flat, action.Click):
    usage = "(<selector> | --coordinate <x> <y>) [--long | --focus] [options]"
    examples = ("--text Save", "--id com.example:id/save --long", "--coordinate 540 1200")
    flags = (
        *SELECTOR_FLAGS,
        *CHOICE_FLAGS,
        action.POINT_FLAG,
        switch("--long", "perform a long press"),
        switch("--focus", "focus the node without clicking it"),
        *RESULT_FLAGS,
    )

    def click_type(self, options: Options) -> str | None:
        if options.long and options.focus:
            raise invalid("use --long OR --focus, not both", "--long")
        return "long_click" if options.long else "focus" if options.focus else None


class Read(Flat, action.Read):
    usage = "(<selector> [--all --json] | --rows <id|json> --fields <name=id,…>) [options]"
    notes = f"--all returns a JSON list in data.text and requires --json. {action.Read.notes}"
    examples = (
        "--id com.example:id/total",
        "--role text --container-id com.example:id/list --all --json",
        "--rows com.example:id/results --fields title=product_title,price=price",
    )

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        if options.all and not (options.json or options.output == "json"):
            raise invalid("read --all requires --json (or --output json)", "--all")
        return super().payload(options)


class ReadValue(Flat, action.Action):
    usage = "(--label <s> | --label-id <s> | --label-desc <s>) [--validate-only | --dry-run] [options]"
    notes = "Label flags given together must all match. It requires Operator 0.3.2 or newer."
    examples = ("--label 'Android version'", "--label-id android:id/title --dry-run")
    flags = (
        *LABEL_FLAGS,
        switch("--all", "do nothing: the device returns the first value"),
        *CHECK_FLAGS,
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any]:
        found = label(options)
        if found is None:
            raise self.missing("--label, --label-id or --label-desc", ErrorCode.MISSING_SELECTOR)
        return build.read_value(found, every=options.all)

    def run(self, options: Options) -> Answer:
        return _checked_or_run(self, options)


class Type(Flat, action.Type):
    usage = "<text> <selector> [--submit] [--clear] [options]"
    examples = (
        "'hello world' --role textfield",
        "--text=-5 --id com.example:id/q --submit",
        "- --id com.example:id/password < password.txt",
    )
    flags = (Word("words", "text to enter; - reads it from stdin"), *action.Type.flags)

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        options.text = self.argument("the text", options.words, text=options.text)
        return super().payload(options)


class Wait(Flat, action.Wait):
    usage = "(<selector> [--gone | --text-changes] | --app <package>) [--timeout <ms>] [options]"
    notes = (
        "--timeout is how long to wait; the execution gets 5000 ms more, and 30000 at least. For a node, it requires Operator 0.5\n"
        f"or newer; without it, the device retries a few times. {action.WAIT_NOTES}"
    )
    examples = ("--text Welcome", "--id com.example:id/list --timeout 60000", "--id com.example:id/spinner --gone")

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        wait_ms, options.timeout_ms = options.timeout_ms, None
        if wait_ms is not None and not (isinstance(wait_ms, int) and 0 < wait_ms <= _MOST_MS):
            raise invalid(f"--timeout must be an integer in [1, {_MOST_MS}]", "actions.0.params.timeoutMs")
        composed = self.composed(options, wait_ms)
        return composed or build.wait_for_node(self.need(selector(options)), wait_ms=wait_ms, limits=limits(options))


class WaitForNav(Flat, action.Action):
    usage = "[--app <package>] [<selector>] --timeout <ms> [--validate-only | --dry-run] [options]"
    notes = (
        "Ends when the app comes to the foreground or the node appears. --timeout is the time limit, 1 to 30000;\n"
        "the execution gets 5000 ms more, and 30000 at least. It requires Operator 0.3.2 or newer."
    )
    examples = ("--app com.android.settings --timeout 10000", "--text Done --timeout 20000 --dry-run")
    flags = (Flag("--app", "<package>", "wait for this app"), *SELECTOR_FLAGS, *CHECK_FLAGS, *RESULT_FLAGS)

    def payload(self, options: Options) -> dict[str, Any]:
        package, node = text_value("--app", options.app, "actions.0.params.expectedPackage"), selector(options)
        if package is None and node is None:
            raise self.missing("--app <package> or a selector", ErrorCode.MISSING_SELECTOR)
        if package is not None:
            from clawperator.engine.executions.force_stop import require_package

            require_package(package)
        if options.timeout_ms is None:
            raise self.missing("--timeout <ms>", ErrorCode.MISSING_ARGUMENT)
        wait_ms, options.timeout_ms = options.timeout_ms, None
        return build.wait_for_navigation(wait_ms, package=package, node=node)

    def run(self, options: Options) -> Answer:
        return _checked_or_run(self, options)


def _checked_or_run(command: action.Action, options: Options) -> Answer:
    """Run an action, or validate it without a device."""
    if options.dry_run or options.validate_only:
        return execute.checked_or_run(command.payload(options), options)
    return action.Action.run(command, options)


class Open(Flat, action.Action):
    usage = "<target> [options]"
    notes = (
        "A target with a scheme:// is a URI, a word with a dot is an application id. Anything else is the label or derived name of\n"
        "one app of `clawperator apps`, in any case; its applicationId is in result."
    )
    examples = ("com.android.settings", "Settings", "https://example.org/", "--app com.android.settings")
    flags = (
        Word("target", "application id, URI or name of an app"),
        Flag("--app", "<target>", "open this target (same as the argument)"),
        *action.NAVIGATION_FLAGS,
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any] | Composition:
        target, how = self.argument("the target", options.target, app=options.app), action.navigation(options)
        if how and opening.is_uri(target):
            raise invalid("--skip-navigation-wait and --navigation-timeout-ms are for apps, not for URIs")
        return opening.open_target(target, **how)


class Close(Flat, action.Action):
    usage = "<package> [options]"
    examples = ("com.android.settings", "--app com.android.settings")
    flags = (
        Word("package", "application id"),
        Flag("--app", "<package>", "stop this app (same as the argument)"),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any]:
        return build.close_app(self.argument("the package", options.package, app=options.app))


class Press(Flat, action.PressKey):
    usage = "<back|home|recents> [options]"
    examples = ("home", "--key recents")
    flags = (Word("name", f"key to press: {', '.join(KEYS)}", suggest=KEYS), *action.PressKey.flags)

    def payload(self, options: Options) -> dict[str, Any]:
        options.key = self.argument("the key", options.name, key=options.key)
        return super().payload(options)


class Back(Flat, action.Action):
    examples = ("",)
    flags = RESULT_FLAGS

    def payload(self, options: Options) -> dict[str, Any]:  # noqa: ARG002 -- the key is always the same
        return build.press_key("back")


class Scroll(Flat, action.Scroll):
    usage = "<direction> [options]"
    examples = ("down", "up --container-id com.example:id/list")
    flags = (_DIRECTION_WORD, *action.Scroll.flags)

    def payload(self, options: Options) -> dict[str, Any]:
        options.direction = self.argument("the direction", options.way, direction=options.direction)
        return super().payload(options)


class ScrollUntil(Flat, action.Action):
    usage = "[<direction>] <selector> [--click] [options]"
    notes = "Scrolls down unless a direction is given. Without --click, it requires Operator 0.3.2 or newer."
    examples = ("--text 'About phone'", "up --text Network --click")
    flags = (_DIRECTION_WORD, *SELECTOR_FLAGS, *action.SCROLL_FLAGS, action.CLICK_FLAG, *RESULT_FLAGS)

    def payload(self, options: Options) -> dict[str, Any]:
        options.direction = _direction(self, options)
        params = {"matcher": self.need(selector(options)), **action.scroll_params(options)}
        return build.scroll_and_click({**params, "clickAfter": True}) if options.click else build.scroll_until(params)


class ScrollAndClick(Flat, action.ScrollAndClick):
    usage = "[<direction>] <selector> [options]"
    notes = "Scrolls down unless a direction is given."
    examples = ("--text Display", "up --text Network --max-swipes 20")
    flags = (_DIRECTION_WORD, *action.ScrollAndClick.flags)

    def payload(self, options: Options) -> dict[str, Any]:
        options.direction = _direction(self, options)
        return super().payload(options)


class Sleep(Flat, action.Action):
    usage = "<ms> [options]"
    notes = f"The execution timeout is 5000 ms longer, at least 30000, so the maximum is {_LONGEST_SLEEP_MS}."
    examples = ("2000",)
    flags = (Word("ms", "duration in milliseconds", suggest=("1000", "5000")), *RESULT_FLAGS)

    def payload(self, options: Options) -> dict[str, Any]:
        duration_ms = integer("sleep <ms>", self.argument("<ms>", options.ms), 0, _MOST_MS) or 0
        if duration_ms > _LONGEST_SLEEP_MS:
            raise invalid(
                f"sleep {duration_ms} exceeds the execution limit of {_MOST_MS} ms. Sleep at most {_LONGEST_SLEEP_MS} ms",
                "actions.0.params.durationMs",
            )
        if options.timeout_ms is not None:
            options.timeout_ms = max(options.timeout_ms, build.time_around(duration_ms))
        return build.sleep(duration_ms)


def _direction(command: Flat, options: Options) -> str:
    if options.way is None and options.direction is None:
        return "down"
    return command.argument("the direction", options.way, direction=options.direction)
