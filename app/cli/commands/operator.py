"""``operator setup|install|status|crash-log`` and ``grant-device-permissions``: the app on the device."""

from __future__ import annotations

from clawperator.app.cli import progress
from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.flat_words import for_both_surfaces
from clawperator.app.cli.parsing.values import integer, text_value
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser

_MOST_LINES = 100_000


class Setup(Command):
    usage = "[--apk <path>] [--sha256 <hex>] [options]"
    notes = (
        "Checks the APK, installs or updates it, grants its permissions and verifies the result. Without --apk, it\n"
        "uses ~/.clawperator/downloads: operator.apk, operator-debug.apk, then the newest other APK. Get the app\n"
        "from https://clawperator.com/operator.apk; nothing is downloaded automatically. --receiver-package installs an app other\n"
        "than the two known ones. If a phase fails, the result contains the phases reached so far."
    )
    examples = (
        "",
        "--apk ~/Downloads/operator.apk",
        "--apk operator-debug.apk --receiver-package com.clawperator.operator.dev",
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--apk", metavar="<path>", about="install this file [from ~/.clawperator/downloads]", file=True)
        parser.value("--sha256", metavar="<hex>", about="require this digest")
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
        "Copies the APK into ~/.clawperator/downloads, where operator setup finds it. URLs must use https, and a\n"
        "SHA-256 must be known: from --sha256 or <url>.sha256. After an interruption, run it again to resume the download."
    )
    examples = (
        "--from https://clawperator.com/operator.apk",
        "--from ~/Downloads/operator.apk --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--from", metavar="<path|url>", about="copy the APK from this file or URL", file=True)
        parser.value("--sha256", metavar="<hex>", about="require this digest")
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
        "Grants the accessibility service, notifications and the notification listener, even if one of them fails. The settings\n"
        "of other apps are kept. A service that is enabled but not running, for example after a crash, is switched off and\n"
        "on again; --force always does so. The command succeeds when the app has answered a handshake. Without\n"
        "--receiver-package, it uses the installed variant."
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
        "Shows the installed variants, their version compatibility and permissions, and whether the accessibility service\n"
        "is enabled (in the settings) and bound (running). bound is null where Android does not report it; doctor asks the app itself."
    )
    examples = ("", "--output pretty")

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.session import run

        found = run(options, lambda engine: engine.operator_app().status())
        return Answer(found.to_dict(), view="operator_status")


class CrashLog(Command):
    usage = "[--lines <n>] [options]"
    notes = "Reads the device's crash log and DropBox, newest first, in device time. Without crashes, the list is empty (exit code 0)."
    examples = ("", "--lines 50 --output pretty")

    def configure(self, parser: Parser) -> None:
        parser.value("--lines", metavar="<n>", about="print at most n lines in total [200]")

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        lines = integer("--lines", options.lines, 1, _MOST_LINES) or 200
        from clawperator.app.cli.session import run

        found = run(options, lambda engine: engine.operator_app().crash_log(lines=lines))
        return Answer(found.to_dict(), view="crash_log")
