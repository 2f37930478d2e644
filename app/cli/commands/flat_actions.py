"""The flat surface's commands of one action each: the classic ones under shorter names (cli.md#commands).

What is the same, flags, parameters, payloads, is the base's; here stand positional arguments and what the flat surface does
differently.
"""

from __future__ import annotations

from clawperator.app.cli.commands import action
from clawperator.app.cli.commands.execute import add_check_flags, checked_or_run
from clawperator.app.cli.parsing.flat_words import Flat
from clawperator.app.cli.parsing.selectors import add_label_flags, add_selector_flags, label, selector
from clawperator.app.cli.parsing.values import integer, invalid, text_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.output import Answer
    from clawperator.app.cli.parsing.arguments import Parser

_MOST_MS = 120_000
_LONGEST_SLEEP_MS = 115_000
"""What an execution of 120,000 ms can sleep and still report back."""


class Click(Flat, action.Click):
    usage = "(<selector> | --coordinate <x> <y>) [--long | --focus] [options]"
    examples = ("--text Save", "--id com.example:id/save --long", "--coordinate 540 1200")

    def declare_type(self, parser: Parser) -> None:
        parser.switch("--long", about="perform a long press")
        parser.switch("--focus", about="only focus the node")

    def click_type(self, options: Namespace) -> str | None:
        if options.long and options.focus:
            raise invalid("use --long OR --focus, not both", "actions.0.params.clickType")
        return "long_click" if options.long else "focus" if options.focus else None


class Read(Flat, action.Read):
    usage = "<selector> [--all --json] [options]"
    notes = f"--all returns a JSON list in data.text and requires --json. {action.Read.notes}"
    examples = ("--id com.example:id/total", "--role text --container-id com.example:id/list --all --json")

    def payload(self, options: Namespace) -> dict[str, Any]:
        if options.all and not (options.json or options.output == "json"):
            raise invalid("read --all requires --json (or --output json)", "--all")
        return super().payload(options)


class ReadValue(Flat, action.Action):
    usage = "(--label <s> | --label-id <s> | --label-desc <s>) [--validate-only | --dry-run] [options]"
    notes = "Label flags given together must all match. It requires Operator 0.3.2 or newer."
    examples = ("--label 'Android version'", "--label-id android:id/title --dry-run")

    def declare(self, parser: Parser) -> None:
        add_label_flags(parser)
        parser.switch("--all", about="ignored: the device returns the first value")
        add_check_flags(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        matcher = self.need(label(options))
        from clawperator.engine.executions import build

        return build.read_value(matcher, every=options.all)

    def run(self, options: Namespace) -> Answer:
        return checked_or_run(self.payload(options), options)


class Type(Flat, action.Type):
    usage = "<text> <selector> [--submit] [--clear] [options]"
    examples = (
        "'hello world' --role textfield",
        "--text=-5 --id com.example:id/q --submit",
        "- --id com.example:id/password < password.txt",
    )

    def declare(self, parser: Parser) -> None:
        parser.word("words", about="text to enter; - reads it from stdin")
        super().declare(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        options.text = self.argument("the text", options.words, text=options.text)
        return super().payload(options)


class Wait(Flat, action.Wait):
    usage = "<selector> [--timeout <ms>] [options]"
    notes = (
        "--timeout is how long to wait for the node; the execution gets 5000 ms more, and 30000 at least. It requires Operator 0.5\n"
        "or newer. Without it, the device retries a few times."
    )
    examples = ("--text Welcome", "--id com.example:id/list --timeout 60000")

    def payload(self, options: Namespace) -> dict[str, Any]:
        matcher = self.need(selector(options))
        wait_ms, options.timeout_ms = options.timeout_ms, None
        if wait_ms is not None and not (isinstance(wait_ms, int) and 0 < wait_ms <= _MOST_MS):
            raise invalid(f"--timeout must be an integer in [1, {_MOST_MS}]", "actions.0.params.timeoutMs")
        from clawperator.engine.executions import build

        return build.wait_for_node(matcher, wait_ms=wait_ms)


class WaitForNav(Flat, action.Action):
    usage = "[--app <package>] [<selector>] --timeout <ms> [--validate-only | --dry-run] [options]"
    notes = (
        "Ends when the app comes to the foreground or the node appears. --timeout is the time limit, 1 to\n"
        "30000; the execution gets 5000 ms more, and 30000 at least. It requires\n"
        "Operator 0.3.2 or newer."
    )
    examples = ("--app com.android.settings --timeout 10000", "--text Done --timeout 20000 --dry-run")

    def declare(self, parser: Parser) -> None:
        parser.value("--app", metavar="<package>", about="wait for this app")
        add_selector_flags(parser)
        add_check_flags(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        package, node = text_value("--app", options.app, "actions.0.params.expectedPackage"), selector(options)
        if package is None:
            self.need(node)
        if options.timeout_ms is None:
            raise self.missing("--timeout <ms>")
        wait_ms, options.timeout_ms = options.timeout_ms, None
        from clawperator.engine.executions import build

        return build.wait_for_navigation(wait_ms, package=package, node=node)

    def run(self, options: Namespace) -> Answer:
        return checked_or_run(self.payload(options), options)


class Open(Flat, action.Action):
    usage = "<target> [options]"
    notes = "A target with a scheme:// is a URI; anything else is an application id."
    examples = ("com.android.settings", "https://example.org/", "--app com.android.settings")

    def declare(self, parser: Parser) -> None:
        parser.word("target", about="application id or URI")
        parser.value("--app", metavar="<target>", about="same as the argument")

    def payload(self, options: Namespace) -> dict[str, Any]:
        target = self.argument("the target", options.target, app=options.app)
        from clawperator.engine.executions import build

        return build.open_target(target)


class Close(Flat, action.Action):
    usage = "<package> [options]"
    examples = ("com.android.settings", "--app com.android.settings")

    def declare(self, parser: Parser) -> None:
        parser.word("package", about="application id")
        parser.value("--app", metavar="<package>", about="same as the argument")

    def payload(self, options: Namespace) -> dict[str, Any]:
        application_id = self.argument("the package", options.package, app=options.app)
        from clawperator.engine.executions import build

        return build.close_app(application_id)


class Press(Flat, action.PressKey):
    usage = "<back|home|recents> [options]"
    examples = ("home", "--key recents")

    def declare(self, parser: Parser) -> None:
        parser.word("name", about="key", suggest=action.KEYS)
        super().declare(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        options.key = self.argument("the key", options.name, key=options.key)
        return super().payload(options)


class Back(Flat, action.Action):
    examples = ("",)

    def declare(self, parser: Parser) -> None:
        """There is nothing to choose."""

    def payload(self, options: Namespace) -> dict[str, Any]:  # noqa: ARG002 -- nothing to choose here either
        from clawperator.engine.executions import build

        return build.press_key("back")


class Scroll(Flat, action.Scroll):
    usage = "<direction> [options]"
    examples = ("down", "up --container-id com.example:id/list")

    def declare(self, parser: Parser) -> None:
        _declare_way(parser)
        super().declare(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        options.direction = self.argument("the direction", options.way, direction=options.direction)
        return super().payload(options)


class ScrollUntil(Flat, action.Action):
    usage = "[<direction>] <selector> [--click] [options]"
    notes = "Scrolls down unless a direction is given. Without --click, it requires Operator 0.3.2 or newer."
    examples = ("--text 'About phone'", "up --text Network --click")

    def declare(self, parser: Parser) -> None:
        _declare_way(parser)
        add_selector_flags(parser)
        action.add_scroll_flags(parser)
        parser.switch("--click", about="click the node when found")

    def payload(self, options: Namespace) -> dict[str, Any]:
        options.direction = _way(self, options)
        params = {"matcher": self.need(selector(options)), **action.scroll_params(options)}
        from clawperator.engine.executions import build

        if options.click:
            return build.scroll_and_click({**params, "clickAfter": True})
        return build.scroll_until(params)


class ScrollAndClick(Flat, action.ScrollAndClick):
    usage = "[<direction>] <selector> [options]"
    notes = "Scrolls down unless a direction is given."
    examples = ("--text Display", "up --text Network --max-swipes 20")

    def declare(self, parser: Parser) -> None:
        _declare_way(parser)
        super().declare(parser)

    def payload(self, options: Namespace) -> dict[str, Any]:
        options.direction = _way(self, options)
        return super().payload(options)


class Sleep(Flat, action.Action):
    usage = "<ms> [options]"
    notes = f"The execution timeout is 5000 ms longer, at least 30000, so the maximum is {_LONGEST_SLEEP_MS}."
    examples = ("2000",)

    def declare(self, parser: Parser) -> None:
        parser.word("ms", about="duration in milliseconds", suggest=("1000", "5000"))

    def payload(self, options: Namespace) -> dict[str, Any]:
        duration_ms = integer("sleep <ms>", self.argument("<ms>", options.ms), 0, _MOST_MS) or 0
        if duration_ms > _LONGEST_SLEEP_MS:
            raise invalid(
                f"sleep {duration_ms} exceeds the execution limit of {_MOST_MS} ms. Sleep at most {_LONGEST_SLEEP_MS} ms",
                "actions.0.params.durationMs",
            )
        from clawperator.engine.executions import build

        if options.timeout_ms is not None:
            options.timeout_ms = max(options.timeout_ms, build.time_around(duration_ms))
        return build.sleep(duration_ms)


def _declare_way(parser: Parser) -> None:
    parser.word("way", about=", ".join(action.DIRECTIONS), suggest=action.DIRECTIONS)


def _way(command: Flat, options: Namespace) -> str:
    if options.way is None and options.direction is None:
        return "down"
    return command.argument("the direction", options.way, direction=options.direction)
