"""``app …``, ``device …`` and ``lock status``: apps and state of one device, and who uses which."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.engine_command import EngineCommand
from clawperator.app.cli.parsing.common_flags import POLICY_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.verbs.catalogue import LOG_LINES, MAX_LOG_LINES, ROTATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from clawperator.app.cli.parsing.flags import Declared
    from clawperator.engine import Engine
    from clawperator.engine.device_admin import DeviceAdmin

_PACKAGE = Word("package", "application id")


class DeviceCommand(EngineCommand):
    """Base: subclasses name the method of ``DeviceAdmin`` with its arguments; every positional argument is required."""

    flags: tuple[Declared, ...] = (POLICY_FLAG,)
    own_payload = True

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:
        raise NotImplementedError

    def check(self, options: Options) -> None:
        for word in self.flags:
            if isinstance(word, Word) and getattr(options, word.name) is None:
                raise self.missing(f"<{word.name}>", ErrorCode.MISSING_ARGUMENT)

    async def call(self, engine: Engine, options: Options) -> Answer:
        return Answer(await self.ask(engine.device_admin(), options))


class Apps(DeviceCommand):
    usage = "[--search <text>] [options]"
    notes = (
        "label is null where the device does not state it: most labels are resources of the app. derivedName is made of the\n"
        "application id. `clawperator open` takes any of the three."
    )
    examples = ("", "--search settings", "--output pretty")
    flags = (
        Flag("--search", "<text>", "list only apps with this text in the label, the derived name or the id"),
        POLICY_FLAG,
    )

    async def call(self, engine: Engine, options: Options) -> Answer:
        return Answer(await engine.device_admin().apps(search=options.search or ""), view="devices.apps")


class AppInstall(DeviceCommand):
    usage = "<apk> [options]"
    notes = "Replaces an installed version and keeps its data. The Operator app needs the capability setup_operator."
    examples = ("app-debug.apk",)
    flags = (Word("apk", "APK file on this computer", file=True), POLICY_FLAG)

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:
        return admin.install(options.apk)


class AppUninstall(DeviceCommand):
    usage = "<package> [--keep-data] [options]"
    examples = ("com.example.shop",)
    flags = (_PACKAGE, switch("--keep-data", "keep the data and caches of the app"), POLICY_FLAG)

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:
        return admin.uninstall(options.package, keep_data=options.keep_data)


class AppClear(DeviceCommand):
    usage = "<package> [options]"
    examples = ("com.example.shop",)
    flags = (_PACKAGE, POLICY_FLAG)

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:
        return admin.clear(options.package)


class AppPermissions(DeviceCommand):
    usage = "grant|revoke <package> <permission> [options]"
    notes = "A permission without a dot is one of android.permission."
    examples = ("grant com.example.shop POST_NOTIFICATIONS", "revoke com.example.shop android.permission.CAMERA")
    flags = (
        Word("verb", "grant or revoke", suggest=("grant", "revoke")),
        _PACKAGE,
        Word("permission", "name of the permission"),
        POLICY_FLAG,
    )

    def check(self, options: Options) -> None:
        if options.verb not in ("grant", "revoke"):
            raise self.missing("grant or revoke", ErrorCode.USAGE if options.verb else ErrorCode.MISSING_ARGUMENT)
        super().check(options)

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:
        return admin.permission(options.verb, options.package, options.permission)


class Info(DeviceCommand):
    examples: tuple[str, ...] = ("", "--output pretty")
    keys: tuple[str, ...] = ()

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:  # noqa: ARG002 -- no options
        return admin.info(*self.keys)


class Size(Info):
    notes = "Width and height are those of the screen as it is turned, in pixels; rotation is in degrees."
    keys = ("width", "height", "density", "rotation")


class UnlockHint(Info):
    notes = "hint is empty if the screen is on and unlocked. A lock cannot be opened from here."
    keys = ("screen", "locked", "hint")


class AppCurrent(Info):
    keys = ("app", "activity")


class Rotate(DeviceCommand):
    usage = "0|90|180|270|auto [options]"
    notes = "The answer has the screen as it is right after the change. An app may fix its own orientation."
    examples = ("90", "auto")
    flags = (Word("to", "degrees, or auto", suggest=ROTATIONS), POLICY_FLAG)

    def check(self, options: Options) -> None:
        super().check(options)
        if options.to not in ROTATIONS:
            raise EngineError(ErrorCode.USAGE, "device rotate takes 0, 90, 180, 270 or auto")

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:
        return admin.rotate(options.to)


class Wake(DeviceCommand):
    notes = "The answer says whether the device is locked, and what to do."
    examples = ("",)

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:  # noqa: ARG002 -- no options
        return admin.wake()


class Reset(DeviceCommand):
    notes = (
        "Its apps, settings, files and screen are those of its scenario again, so that a script can run any number of times. "
        "Connections, the log and the history stay. Any other device is refused, and stays as it is."
    )
    examples = ("", "--device-id emulator-5556")

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:  # noqa: ARG002 -- no options
        return admin.reset()


class DeviceLogs(DeviceCommand):
    usage = "[--lines <n>] [--app <package>] [options]"
    examples = ("", "--lines 50 --app com.example.shop")
    flags = (
        Flag("--lines", "<n>", "print at most n lines", bounds=(1, MAX_LOG_LINES), default=LOG_LINES),
        Flag("--app", "<package>", "print only lines of this running app"),
        POLICY_FLAG,
    )

    def ask(self, admin: DeviceAdmin, options: Options) -> Awaitable[dict[str, Any]]:
        return admin.logs(lines=options.lines, package=options.app or "")


class LockStatus(Command):
    notes = "Without --device-id, lists every device that is locked or settling after an unknown outcome."
    examples = ("", "--device-id emulator-5554")

    def run(self, options: Options) -> Answer:
        import asyncio

        from clawperator.app.cli.settings import resolve_settings
        from clawperator.engine import Engine

        engine = Engine(resolve_settings(options))
        locks = [asyncio.run(engine.lock_of(options.device_id))] if options.device_id else engine.locks()
        return Answer({"locks": [lock.to_dict() for lock in locks]}, view="devices.locks")
