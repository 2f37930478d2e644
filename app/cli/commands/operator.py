"""``operator setup|install|status|crash-log`` and ``grant-device-permissions``: the app on the device."""

from __future__ import annotations

from clawperator.app.cli import progress
from clawperator.app.cli.command import Command
from clawperator.app.cli.flat_words import for_both_surfaces
from clawperator.app.cli.output import Answer
from clawperator.app.cli.values import integer, text_value
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser

_MOST_LINES = 100_000


class Setup(Command):
    usage = "[--apk <path>] [--sha256 <hex>] [options]"
    notes = (
        "Checks the file, installs it over what is there, grants what it needs and looks whether it is there. Without --apk it\n"
        "takes what lies in ~/.clawperator/downloads: operator.apk, operator-debug.apk, then the newest other one. The app comes\n"
        "from https://clawperator.com/operator.apk; nothing is downloaded by itself. --receiver-package installs another app\n"
        "than the two known ones. When a phase fails, the answer has the objects of the phases that were reached."
    )
    examples = (
        "",
        "--apk ~/Downloads/operator.apk",
        "--apk operator-debug.apk --receiver-package com.clawperator.operator.dev",
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--apk", metavar="<path>", about="the file to install (~/.clawperator/downloads)", file=True)
        parser.value("--sha256", metavar="<hex>", about="refuse the file unless it has this digest")
        progress.configure(parser)

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        for flag, text in (("--apk", options.apk), ("--sha256", options.sha256)):
            if text is not None and not text.strip():  # an empty variable of a script must not choose another file
                raise EngineError(ErrorCode.USAGE, f"{flag} value must not be blank")
        from clawperator.app.cli.session import run

        apk, digest = options.apk or "", options.sha256 or ""
        with progress.shown(options) as tell:
            done = run(options, lambda engine: engine.operator_app().setup(apk, sha256=digest, tell=tell))
        return Answer(done.to_dict(), view="operator_setup")


class Fetch(Command):
    usage = "--from <path|url> [--sha256 <hex>] [options]"
    notes = (
        "Copies the APK into ~/.clawperator/downloads, where operator setup finds it. Only https is fetched, and only with a\n"
        "known SHA-256: --sha256, else the one in <url>.sha256. Run it again after an interruption: it goes on where it stopped."
    )
    examples = (
        "--from https://clawperator.com/operator.apk",
        "--from ~/Downloads/operator.apk --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--from", metavar="<path|url>", about="where the APK is", file=True)
        parser.value("--sha256", metavar="<hex>", about="the digest that it must have")
        progress.configure(parser)

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        source = text_value("--from", getattr(options, "from"))
        digest = text_value("--sha256", options.sha256) or ""
        if source is None:
            raise EngineError(ErrorCode.USAGE, "operator fetch requires --from <path|url>")
        from clawperator.app.cli.session import run

        with progress.shown(options) as tell:
            done = run(options, lambda engine: engine.operator_app().fetch(source, sha256=digest, tell=tell))
        return Answer(done.to_dict(), view="operator_fetch")


class Grant(Command):
    usage = "[--force] [options]"
    notes = (
        "Accessibility service, notifications, notification listener: all three are tried even if one fails. What other apps\n"
        "have in these settings stays as it is. A service that is enabled but does not run, as after a crash, is switched off and\n"
        "on again; --force does so in any case. It succeeds only once the app has answered a handshake. Without\n"
        "--receiver-package, the installed variant is taken."
    )
    examples = ("", "--force", "--device-id emulator-5554")

    def configure(self, parser: Parser) -> None:
        parser.switch("--force", about="switch the accessibility service off and on again")
        progress.configure(parser)

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.session import run

        with progress.shown(options) as tell:
            done = run(options, lambda engine: engine.operator_app().grant(force=options.force, tell=tell))
        return Answer(done.to_dict(), view="granted")


class Status(Command):
    notes = (
        "Which variants are installed, whether their version fits, what they were granted, and whether the accessibility service\n"
        "is enabled (in the settings) and bound (running). bound is null where Android does not tell; doctor asks the app itself."
    )
    examples = ("", "--output pretty")

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.session import run

        found = run(options, lambda engine: engine.operator_app().status())
        return Answer(found.to_dict(), view="operator_status")


class CrashLog(Command):
    usage = "[--lines <n>] [options]"
    notes = "From the device's crash log and its drop box, newest first, in the device's own time. No crash: an empty list, exit 0."
    examples = ("", "--lines 50 --output pretty")

    def configure(self, parser: Parser) -> None:
        parser.value("--lines", metavar="<n>", about="at most so many lines in all (200)")

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        lines = integer("--lines", options.lines, 1, _MOST_LINES) or 200
        from clawperator.app.cli.session import run

        found = run(options, lambda engine: engine.operator_app().crash_log(lines=lines))
        return Answer(found.to_dict(), view="crash_log")
