"""``operator …`` and ``grant-device-permissions``: the app on the device."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Options
from clawperator.app.cli.engine_command import SharedEngineCommand
from clawperator.app.cli.parsing.common_flags import PROGRESS_FLAG
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.app.cli.parsing.values import text_value
from clawperator.engine.contracts.operator_identity import ANDROPERATOR, CLAWPERATOR, DEBUG_PACKAGE, newest_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.version import OPERATOR_RELEASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine import Engine

_DIGEST_FLAG = Flag("--sha256", "<hex>", "require this digest")


class Setup(SharedEngineCommand):
    usage = "[--apk <path>] [--sha256 <hex>] [options]"
    notes = (
        "Checks the APK, installs or updates it, grants its permissions and verifies the result. Without --apk, it\n"
        "uses ~/.clawperator/downloads: operator.apk, operator-debug.apk, then the newest other APK. Get the app\n"
        f"from {ANDROPERATOR.newest_url}, up to {newest_of(CLAWPERATOR)} from {CLAWPERATOR.newest_url}; nothing is\n"
        "downloaded automatically. --receiver-package installs an app other than the known ones. If a phase fails, the result contains the phases reached so far."
    )
    examples = (
        "",
        "--apk ~/Downloads/operator.apk",
        f"--apk operator-debug.apk --receiver-package {DEBUG_PACKAGE}",
    )
    flags = (
        Flag("--apk", "<path>", "install this file [from ~/.clawperator/downloads]", file=True),
        _DIGEST_FLAG,
        switch("--force", "install it even if its version is not supported"),
        PROGRESS_FLAG,
    )

    def check(self, options: Options) -> None:
        for flag, text in (("--apk", options.apk), ("--sha256", options.sha256)):
            if text is not None and not text.strip():  # an empty variable of a script must not choose another file
                raise EngineError(ErrorCode.USAGE, f"{flag} value must not be blank")

    async def call(self, engine: Engine, options: Options) -> Answer:
        found = await engine.operator_app().setup(
            options.apk or "", sha256=options.sha256 or "", force=bool(options.force), on_progress=options.on_progress
        )
        return Answer(found.to_dict(), view="operator.operator_setup")


class Fetch(SharedEngineCommand):
    usage = "--from <path|url> [--sha256 <hex>] [options]"
    notes = (
        "Copies the APK into ~/.clawperator/downloads, where operator setup finds it. URLs must use https, and a\n"
        "SHA-256 must be known: from --sha256 or <url>.sha256. A download that fails or is interrupted leaves no file."
    )
    examples = (
        f"--from {ANDROPERATOR.newest_url}",
        f"--from {CLAWPERATOR.release_url(OPERATOR_RELEASES[newest_of(CLAWPERATOR)])}",
        "--from ~/Downloads/operator.apk --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )
    flags = (Flag("--from", "<path|url>", "copy the APK from this file or URL", file=True), _DIGEST_FLAG, PROGRESS_FLAG)

    def check(self, options: Options) -> None:
        text_value("--sha256", options.sha256)
        if text_value("--from", getattr(options, "from")) is None:
            raise EngineError(ErrorCode.USAGE, "operator fetch requires --from <path|url>")

    async def call(self, engine: Engine, options: Options) -> Answer:
        found = await engine.operator_app().fetch(
            getattr(options, "from"), sha256=options.sha256 or "", on_progress=options.on_progress
        )
        return Answer(found.to_dict(), view="operator.operator_fetch")


class Grant(SharedEngineCommand):
    usage = "[--force] [options]"
    notes = (
        "Grants the accessibility service, notifications and the notification listener, even if one of them fails. The settings\n"
        "of other apps are kept. A service that is enabled but not running, for example after a crash, is switched off and\n"
        "on again; --force always does so. The command succeeds when the app has answered a handshake. Without\n"
        "--receiver-package, it uses the installed variant."
    )
    examples = ("", "--force", "--device-id emulator-5554")
    flags = (switch("--force", "switch the accessibility service off and on again"), PROGRESS_FLAG)

    async def call(self, engine: Engine, options: Options) -> Answer:
        found = await engine.operator_app().grant(force=options.force, on_progress=options.on_progress)
        return Answer(found.to_dict(), view="operator.granted")


class Status(SharedEngineCommand):
    notes = (
        "Shows the installed variants, their version compatibility and permissions, and whether the accessibility service\n"
        "is enabled (in the settings) and bound (running). bound is null where Android does not report it; doctor asks the app itself."
    )
    examples = ("", "--output pretty")

    async def call(self, engine: Engine, options: Options) -> Answer:  # noqa: ARG002 -- no options
        found = await engine.operator_app().status()
        return Answer(found.to_dict(), view="operator.operator_status")


class CrashLog(SharedEngineCommand):
    usage = "[--lines <n>] [options]"
    notes = "Reads the device's crash log and DropBox, newest first, in device time. Without crashes, the list is empty (exit code 0)."
    examples = ("", "--lines 50 --output pretty")
    flags = (Flag("--lines", "<n>", "print at most n lines in total", bounds=(1, 100_000), default=200),)

    async def call(self, engine: Engine, options: Options) -> Answer:
        found = await engine.operator_app().crash_log(lines=options.lines)
        return Answer(found.to_dict(), view="operator.crash_log")
