"""``warm start|stop|status``: the process that has loaded the commands already (cli.md#the-warm-process)."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.flags import Flag
from clawperator.app.warm import socket_path
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PATIENCE_SECONDS = 15.0
"""How long it may take to start, or to end."""
_LOOK_SECONDS = 0.005


class Start(Command):
    usage = "[--idle <minutes>] [options]"
    notes = (
        "Each command runs in a process of its own that is forked from the loaded one, with the folder, environment and streams of"
        " its caller. --no-warm or CLAWPERATOR_WARM=0 runs a command without it. CLAWPERATOR_WARM=1, or warm.auto in the settings,"
        " starts it with the first command."
    )
    examples = ("", "--idle 60")

    flags = (
        Flag("--idle", "<minutes>", "stop after so long without a command, 1 to 1440", bounds=(1, 1_440), default=10),
    )

    def run(self, options: Options) -> Answer:
        if (found := _greeting()) is not None:
            return Answer({"started": False, **found})
        if (other := _greeting(any_build=True)) is not None:
            _stop(other)
        from clawperator.app.warm.start import start

        start(options.idle * 60, wait=True)
        if (found := _greeting()) is None:
            if (other := _awaited()) is not None:  # another program has just started it
                return Answer({"started": False, **other})
            _require_folder()
            raise EngineError(
                ErrorCode.INTERNAL_ERROR,
                "The warm process did not start",
                hint="Run commands with --no-warm. `clawperator report` collects what a bug report needs.",
            )
        return Answer({"started": True, **found})


def _require_folder() -> None:
    """Raise ``EngineError`` (FOLDER_NOT_PRIVATE, FILE_NOT_WRITABLE) where the folder of the socket is not this user's alone."""
    from clawperator.app.warm import protocol

    try:
        os.close(protocol.open_folder())
    except OSError as exc:
        path = os.path.dirname(socket_path())
        if isinstance(exc, FileNotFoundError):  # the process could not create it
            message = f"The folder of the warm process, {path}, cannot be created"
            hint = "Set XDG_RUNTIME_DIR or HOME to a folder that this user can write."
            raise EngineError(ErrorCode.FILE_NOT_WRITABLE, message, hint=hint, details={"file": path}) from exc
        raise EngineError(
            ErrorCode.FOLDER_NOT_PRIVATE,
            f"The warm process did not start: {exc.strerror or exc}",
            hint=f"Make {path} your own folder, with access for you alone: chmod 700.",
            details={"path": path},
        ) from exc


def _stop(found: dict[str, Any]) -> None:
    os.kill(found["pid"], signal.SIGTERM)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while os.path.exists(socket_path()) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)  # it is not our child, so its end is not reported


class Stop(Command):
    notes = "Commands that run in it finish."
    examples = ("",)

    def run(self, _: Options) -> Answer:
        found = _awaited()
        if found is None:
            return Answer({"stopped": False})
        _stop(found)
        return Answer({"stopped": True, "pid": found["pid"]})


class Status(Command):
    notes = "`other` is one that commands do not use: of another version, interpreter or locale."
    examples = ("",)

    def run(self, _: Options) -> Answer:
        found = _greeting()
        if found is not None:
            return Answer({"running": True, **found})
        other = _greeting(any_build=True)
        return Answer({"running": False} if other is None else {"running": False, "other": other})


def _awaited() -> dict[str, Any] | None:
    """What the warm process of any build says of itself, also one that is starting; ``None`` without one."""
    from clawperator.app.warm.start import is_running

    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (found := _greeting(any_build=True)) is None and is_running() and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)  # it has no socket to wait on before it listens
    return found


def _greeting(*, any_build: bool = False) -> dict[str, Any] | None:
    """What the warm process says of itself; ``None`` without one."""
    from clawperator.app.warm import client

    client.PATIENCE = 1.0
    connected = client.connect(any_build=any_build)
    if connected is None:
        return None
    connection, facts = connected
    connection.close()
    with suppress(ValueError, LookupError, TypeError):
        found = json.loads(facts)
        if isinstance(found["pid"], int) and found["pid"] > 1:  # the others are groups of processes, and init
            return {**found, "socket": socket_path()}
    return None
