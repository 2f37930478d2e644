"""``emulator``: the virtual devices of this computer, from listing them to getting one that can be used."""

from __future__ import annotations

from clawperator.app.cli import confirmation, diagnostics, progress
from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.emulators.manager import EmulatorManager

    T = TypeVar("T")

_HIGHEST_LEVEL = 999


class ListAvds(Command):
    notes = "Names come from the Android SDK's emulator tool, details from the virtual devices' configuration files."
    examples = ("", "--output pretty")

    def run(self, options: Namespace) -> Answer:
        avds, abis = _use(options, lambda manager: _with_abis(manager, manager.avds()))
        return Answer({"avds": [avd.to_dict() for avd in avds]}, view="avds", data=(avds, abis))


class Inspect(Command):
    usage = "<name> [options]"
    notes = "For an unknown name, exists is false."
    examples = ("clawperator-pixel", "clawperator-pixel --output pretty")

    def configure(self, parser: Parser) -> None:
        parser.word("name", about="name of the virtual device", suggest="avds")

    def run(self, options: Namespace) -> Answer:
        name = _name(self, options)
        avd, abis = _use(options, lambda manager: _with_abis(manager, manager.inspect(name)))
        return Answer(avd.to_dict(), view="avd", data=(avd, abis))


class Create(Command):
    usage = "[--name <name>] [--force [--yes]] [options]"
    notes = (
        "Installs a missing system image first and accepts its licences. An existing virtual device is overwritten only with\n"
        "--force, which asks for confirmation; without a terminal, it also needs --yes. Values other than the defaults make it unsupported,\n"
        "unless the settings allow them."
    )
    examples = ("", "--name second", "--name second --force --yes", "--api-level 34 --abi x86_64 --no-play-store")

    def configure(self, parser: Parser) -> None:
        parser.value("--name", metavar="<name>", about="name the virtual device [clawperator-pixel]")
        parser.value("--api-level", metavar="<n>", about="use this Android API level [35]")
        parser.value(
            "--abi",
            metavar="<abi>",
            about="use a system image for this ABI [arm64-v8a, or x86_64 on hosts that cannot run it]",
        )
        parser.value("--device-profile", metavar="<id>", about="use this hardware profile [pixel_7]")
        parser.switch("--no-play-store", about="use a system image without the Play Store")
        parser.switch("--force", about="overwrite an existing virtual device")
        confirmation.configure(parser)
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        level = integer("--api-level", options.api_level, 1, _HIGHEST_LEVEL)
        if options.force:
            _confirm_overwriting(options)
        with progress.shown(options) as tell:
            avd, abis = _use(
                options,
                lambda manager: _with_abis(
                    _noted(manager, options) if options.abi is None else manager,
                    manager.create(
                        _given_name(options),
                        force=options.force,
                        tell=tell,
                        api_level=level,
                        device_profile=options.device_profile,
                        abi=options.abi,
                        play_store=False if options.no_play_store else None,
                    ),
                ),
            )
        return Answer(avd.to_dict(), view="avd", data=(avd, abis))


class Start(Command):
    usage = "<name> [--log <file>] [options]"
    notes = "Returns when it has booted and leaves it running. If it does not boot, or after Ctrl-C, it is stopped."
    examples = ("clawperator-pixel", "clawperator-pixel --log emulator.log --json-progress")

    def configure(self, parser: Parser) -> None:
        parser.word("name", about="name of the virtual device", suggest="avds")
        parser.value("--log", metavar="<file>", about="append the emulator's output to this file", file=True)
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        name = _name(self, options)
        with progress.shown(options) as tell:
            up = _use(options, lambda manager: manager.start(name, tell=tell, log=_log_path(options)))
        return Answer(up.started(), view="emulator_up")


class Stop(Command):
    usage = "<name> [options]"
    examples = ("clawperator-pixel",)

    def configure(self, parser: Parser) -> None:
        parser.word("name", about="name of the virtual device", suggest="avds")
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        name = _name(self, options)
        with progress.shown(options) as tell:
            stopped = _use(options, lambda manager: manager.stop(name, tell=tell))
        return Answer(stopped.to_dict(), view="emulator_stopped")


class Delete(Command):
    usage = "<name> [--yes] [options]"
    notes = "Asks for confirmation on a terminal, but not in a script. A running virtual device is not deleted."
    examples = ("clawperator-pixel", "clawperator-pixel --yes")

    def configure(self, parser: Parser) -> None:
        parser.word("name", about="name of the virtual device", suggest="avds")
        confirmation.configure(parser)

    def run(self, options: Namespace) -> Answer:
        name = _name(self, options)
        if not _exists(options, name):
            from clawperator.engine.emulators.lifecycle import not_found

            raise not_found(name)
        if diagnostics.can_ask():
            question = f"Delete {name} and everything on it?"
            confirmation.confirm(options, question, refusal=f"emulator delete removes {name} and everything on it")
        _use(options, lambda manager: manager.delete(name))
        return Answer({"ok": True, "avdName": name, "deleted": True}, view="avd_deleted")


class Status(Command):
    examples = ("", "--output pretty")

    def run(self, options: Namespace) -> Answer:
        running, abis = _use(options, lambda manager: _with_abis(manager, manager.status()))
        return Answer({"devices": [one.to_dict() for one in running]}, view="emulators", data=(running, abis))


class Provision(Command):
    usage = "[--name <name>] [options]"
    notes = (
        "Reuses a running supported virtual device, else starts an existing one, else creates one. Deletes and overwrites\n"
        "nothing. If it cannot boot a virtual device, or after Ctrl-C, it stops it."
    )
    examples = ("", "--json-progress", "--name second")

    def configure(self, parser: Parser) -> None:
        parser.value(
            "--name", metavar="<name>", about="prefer this virtual device, and create it if needed [clawperator-pixel]"
        )
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        with progress.shown(options) as tell:
            done = _use(options, lambda manager: _noted(manager, options).provision(_given_name(options), tell=tell))
        return Answer(done.to_dict(), view="provisioned")


def _use(options: Namespace, work: Callable[[EmulatorManager], Awaitable[T]]) -> T:
    """Do it with the engine's emulators. Raises what ``work`` raises; ``EngineError`` (INTERRUPTED) after SIGINT."""
    from clawperator.app.cli.session import run

    try:
        return run(options, lambda engine: work(engine.emulators))
    except EngineError as exc:
        if exc.code is ErrorCode.INTERRUPTED and exc.extra.get("broadcastDispatchStatus") == "not_sent":
            message = "Interrupted: everything started by this command was stopped; files already written remain"
            raise EngineError(exc.code, message, hint="Repeat the command to continue.", extra=exc.extra) from exc
        raise


async def _with_abis(manager: EmulatorManager, work: Awaitable[T]) -> tuple[T, tuple[str, ...]]:
    """The result, and what views need to tell what it would have to be."""
    return await work, manager.supported_abis


def _noted(manager: EmulatorManager, options: Namespace) -> EmulatorManager:
    """``manager``, once stderr has said why its default ABI is not the documented one."""
    if manager.abi_note and not options.json_progress:
        diagnostics.note(manager.abi_note)
    return manager


def _name(command: Command, options: Namespace) -> str:
    """The name on the command line. Raises ``EngineError`` USAGE, INVALID_NAME."""
    from clawperator.engine.emulators.avds import checked_name

    if options.name is None:
        example = {"example": f"clawperator {command.words} clawperator-pixel"}
        raise EngineError(ErrorCode.USAGE, f"{command.words} <name>", extra=example)
    return checked_name(options.name)


def _given_name(options: Namespace) -> str:
    """``--name``, or '' for the default one. Raises ``EngineError`` (INVALID_NAME)."""
    from clawperator.engine.emulators.avds import checked_name

    return "" if options.name is None else checked_name(options.name)


def _confirm_overwriting(options: Namespace) -> None:
    """Only where there is something to lose."""
    from clawperator.engine.emulators.avds import DEFAULT_NAME

    name = _given_name(options) or DEFAULT_NAME
    if _exists(options, name):
        question = f"Overwrite {name} and everything on it?"
        confirmation.confirm(
            options, question, refusal=f"emulator create --force overwrites {name} and everything on it"
        )


def _exists(options: Namespace, name: str) -> bool:
    """Whether there is a virtual device of this name; reads its files only."""
    from clawperator.app.cli.context import settings
    from clawperator.engine.emulators.avds import avd_home, read_avd

    return read_avd(avd_home(settings(options).environment), name, ()).exists


def _log_path(options: Namespace) -> str:
    import os

    return os.path.abspath(os.path.expanduser(options.log)) if options.log else ""
