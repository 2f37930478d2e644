"""``emulator``: the virtual devices of this computer."""

from __future__ import annotations

from clawperator.app.cli import confirmation, diagnostics
from clawperator.app.cli.command import Answer, Options
from clawperator.app.cli.engine_command import EngineCommand
from clawperator.app.cli.parsing.common_flags import CONFIRMATION_FLAGS, PROGRESS_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine import Engine
    from clawperator.engine.emulators.avds import Avd

_NAME_WORD = Word("name", "name of the virtual device", suggest="avds")


class _Emulators(EngineCommand):
    """Base: an interrupt stops what the command has started."""

    def run(self, options: Options) -> Answer:
        try:
            return super().run(options)
        except EngineError as exc:
            if exc.code is ErrorCode.INTERRUPTED and exc.extra.get("broadcastDispatchStatus") == "not_sent":
                message = "Interrupted: everything started by this command was stopped; files already written remain"
                raise EngineError(exc.code, message, hint="Repeat the command to continue.", extra=exc.extra) from exc
            raise


class _NamedEmulator(_Emulators):
    """Base: of the virtual device ``<name>``."""

    def check(self, options: Options) -> None:
        from clawperator.engine.emulators.avds import checked_name

        if options.name is None:
            example = {"example": f"clawperator {self.words} clawperator-pixel"}
            raise EngineError(ErrorCode.USAGE, f"{self.words} <name>", extra=example)
        checked_name(options.name)


class ListAvds(_Emulators):
    notes = "Names come from the Android SDK's emulator tool, details from the virtual devices' configuration files."
    examples = ("", "--output pretty")

    async def call(self, engine: Engine, options: Options) -> Answer:  # noqa: ARG002 -- no options
        avds = await engine.emulators.avds()
        document = {"avds": [avd.to_dict() for avd in avds]}
        return Answer(document, view="emulators.avds", data=(avds, engine.emulators.supported_abis))


class Inspect(_NamedEmulator):
    usage = "<name> [options]"
    notes = "For an unknown name, exists is false."
    examples = ("clawperator-pixel", "clawperator-pixel --output pretty")
    flags = (_NAME_WORD,)

    async def call(self, engine: Engine, options: Options) -> Answer:
        return _avd(engine, await engine.emulators.inspect(options.name))


class Create(_Emulators):
    usage = "[--name <name>] [--force [--yes]] [options]"
    notes = (
        "Installs a missing system image first and accepts its licences. An existing virtual device is overwritten only with\n"
        "--force, which asks for confirmation; without a terminal, it also needs --yes. Values other than the defaults make it unsupported,\n"
        "unless the settings allow them."
    )
    examples = ("", "--name second", "--name second --force --yes", "--api-level 34 --abi x86_64 --no-play-store")
    flags = (
        Flag("--name", "<name>", "name the virtual device [clawperator-pixel]"),
        Flag("--api-level", "<n>", "use this Android API level [35]", bounds=(1, 999)),
        Flag("--abi", "<abi>", "use a system image for this ABI [arm64-v8a, or x86_64 on hosts that cannot run it]"),
        Flag("--device-profile", "<id>", "use this hardware profile [pixel_7]"),
        switch("--no-play-store", "use a system image without the Play Store"),
        switch("--force", "overwrite an existing virtual device"),
        *CONFIRMATION_FLAGS,
        PROGRESS_FLAG,
    )

    def check(self, options: Options) -> None:
        from clawperator.engine.emulators.avds import DEFAULT_NAME

        name = _checked_name(options) or DEFAULT_NAME
        if options.force and _exists(options, name):
            refusal = f"emulator create --force overwrites {name} and everything on it"
            confirmation.confirm(options, f"Overwrite {name} and everything on it?", refusal=refusal)

    async def call(self, engine: Engine, options: Options) -> Answer:
        if options.abi is None:
            _note_abi(engine, options)
        created = await engine.emulators.create(
            options.name or "",
            force=options.force,
            on_progress=options.on_progress,
            api_level=options.api_level,
            device_profile=options.device_profile,
            abi=options.abi,
            play_store=False if options.no_play_store else None,
        )
        return _avd(engine, created)


class Start(_NamedEmulator):
    usage = "<name> [--log <file>] [options]"
    notes = (
        "Returns when it has booted and leaves it running. If it does not boot, or after Ctrl-C, it is stopped. Its output is in\n"
        "~/.clawperator/logs/emulator-<name>.log, which every start replaces."
    )
    examples = ("clawperator-pixel", "clawperator-pixel --log emulator.log --json-progress")
    flags = (
        _NAME_WORD,
        Flag("--log", "<file>", "append the emulator's output to this file instead", file=True),
        PROGRESS_FLAG,
    )

    def check(self, options: Options) -> None:
        import os

        super().check(options)
        options.log = os.path.abspath(os.path.expanduser(options.log)) if options.log else ""

    async def call(self, engine: Engine, options: Options) -> Answer:
        started = await engine.emulators.start(options.name, on_progress=options.on_progress, log=options.log)
        return Answer(started.started(), view="emulators.emulator_started")


class Stop(_NamedEmulator):
    usage = "<name> [options]"
    examples = ("clawperator-pixel",)
    flags = (_NAME_WORD, PROGRESS_FLAG)

    async def call(self, engine: Engine, options: Options) -> Answer:
        stopped = await engine.emulators.stop(options.name, on_progress=options.on_progress)
        return Answer(stopped.to_dict(), view="emulators.emulator_stopped")


class Delete(_NamedEmulator):
    usage = "<name> [--yes] [options]"
    notes = "Asks for confirmation on a terminal, but not in a script. A running virtual device is not deleted."
    examples = ("clawperator-pixel", "clawperator-pixel --yes")
    flags = (_NAME_WORD, *CONFIRMATION_FLAGS)

    def check(self, options: Options) -> None:
        super().check(options)
        name = options.name
        if not _exists(options, name):
            from clawperator.engine.emulators.lifecycle import not_found

            raise not_found(name)
        if diagnostics.can_ask():
            question = f"Delete {name} and everything on it?"
            confirmation.confirm(options, question, refusal=f"emulator delete removes {name} and everything on it")

    async def call(self, engine: Engine, options: Options) -> Answer:
        await engine.emulators.delete(options.name)
        return Answer({"ok": True, "avdName": options.name, "deleted": True}, view="emulators.avd_deleted")


class Status(_Emulators):
    examples = ("", "--output pretty")

    async def call(self, engine: Engine, options: Options) -> Answer:  # noqa: ARG002 -- no options
        running = await engine.emulators.status()
        document = {"devices": [one.to_dict() for one in running]}
        return Answer(document, view="emulators.emulators", data=(running, engine.emulators.supported_abis))


class Provision(_Emulators):
    usage = "[--name <name>] [options]"
    notes = (
        "Reuses a running supported virtual device, else starts an existing one, else creates one. Deletes and overwrites\n"
        "nothing. If it cannot boot a virtual device, or after Ctrl-C, it stops it."
    )
    examples = ("", "--json-progress", "--name second")
    flags = (
        Flag("--name", "<name>", "prefer this virtual device, and create it if needed [clawperator-pixel]"),
        PROGRESS_FLAG,
    )

    def check(self, options: Options) -> None:
        _checked_name(options)

    async def call(self, engine: Engine, options: Options) -> Answer:
        _note_abi(engine, options)
        found = await engine.emulators.provision(options.name or "", on_progress=options.on_progress)
        return Answer(found.to_dict(), view="emulators.provisioned")


def _avd(engine: Engine, avd: Avd) -> Answer:
    """Return the answer about one virtual device, whose drawing names the supported ABIs."""
    return Answer(avd.to_dict(), view="emulators.avd", data=(avd, engine.emulators.supported_abis))


def _note_abi(engine: Engine, options: Options) -> None:
    """Log why the default ABI is not the documented one."""
    if engine.emulators.abi_note and not options.json_progress:
        diagnostics.note(engine.emulators.abi_note)


def _checked_name(options: Options) -> str:
    """``--name``, or '' for the default one. Raises ``EngineError`` (INVALID_NAME)."""
    from clawperator.engine.emulators.avds import checked_name

    return "" if options.name is None else checked_name(options.name)


def _exists(options: Options, name: str) -> bool:
    """Whether there is a virtual device of this name; reads its files only."""
    from clawperator.app.cli.settings import resolve_settings
    from clawperator.engine.emulators.avds import avd_home, read_avd

    return read_avd(avd_home(resolve_settings(options).environment), name, ()).exists
