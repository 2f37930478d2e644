"""Fetch a recording from the device (cli.md#commands)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from clawperator.engine.contracts.limits import MAX_ID_LENGTH
from clawperator.engine.contracts.values import SESSION_ID
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import OnProgress, Stage, unreported
from clawperator.engine.recordings.reader import MAX_FILE_BYTES
from clawperator.engine.text.numbers import whole_number

if TYPE_CHECKING:
    from clawperator.engine.adb.device import AdbDevice
    from clawperator.engine.adb.sync import FileStat
    from clawperator.engine.facade import Engine

SUFFIX = ".ndjson"
_POINTER = "latest"
_POINTER_BYTES = 4_096
"""Limit of the pointer file, which contains a session id."""
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_JOB = "record pull"


@dataclass(frozen=True, slots=True)
class FetchedRecording:
    """A recording that was fetched to this computer."""

    path: str
    session_id: str
    bytes: int

    def to_dict(self) -> dict[str, object]:
        return {"ok": True, "localPath": self.path, "sessionId": self.session_id, "bytes": self.bytes}


async def pull(engine: Engine, folder: str, *, session_id: str = "") -> FetchedRecording:
    """Fetch a recording of the engine's device. It contains typed text, so the capability ``record`` is required."""
    engine.guard.permit("record", "fetch a recording")
    with engine.guard.writing(folder):
        device = await engine.device()
        return await fetch(device, await engine.operator_package(device), folder, session_id=session_id)


async def fetch(
    device: AdbDevice, package: str, folder: str, *, session_id: str = "", on_progress: OnProgress = unreported
) -> FetchedRecording:
    """Save a recording of the Operator app ``package`` in ``folder``, which is created if missing.

    The default ``session_id`` is the one that was stopped last. The file, which contains typed text, is readable for this user
    only. Raises ``EngineError``: RECORDING_SESSION_NOT_FOUND, RECORDING_PULL_FAILED, and those of the connection.
    """
    there = f"{await _storage(device)}/Android/data/{package}/files/recordings"
    name = session_id or await _latest(device, f"{there}/{_POINTER}")
    if not is_session_id(name):
        raise EngineError(
            ErrorCode.RECORDING_SESSION_NOT_FOUND,
            "Invalid session id: only letters, digits, _ and - are allowed",
            hint="Use the id that `clawperator record start` or `record stop` printed.",
            details={"sessionId": name[:MAX_ID_LENGTH]},
        )
    remote = f"{there}/{name}{SUFFIX}"
    size = (await _stat(device, remote)).size
    if size > MAX_FILE_BYTES:
        _refuse(f"{remote} has {size} bytes; the limit is {MAX_FILE_BYTES}", name)

    def report(count: int) -> None:
        on_progress(Stage(_JOB, "pull", "running", fraction=min(1.0, count / size) if size else None))

    local = str(Path(folder, f"{name}{SUFFIX}"))
    try:
        _make(folder)
        received = await device.pull_to(remote, local, limit=MAX_FILE_BYTES, progress=report)
        os.chmod(local, _PRIVATE_FILE)
    except OSError as exc:
        _refuse(f"{local} cannot be written: {exc.strerror or exc}", name)
    except EngineError as exc:
        if exc.code not in (ErrorCode.DEVICE_SHELL_UNAVAILABLE, ErrorCode.INVALID_PATH):
            raise
        _refuse(exc.message, name, cause=exc)
    return FetchedRecording(local, name, received)


async def _storage(device: AdbDevice) -> str:
    """Return the shared storage of the Android user in the foreground; adb's ``/sdcard`` is that of user 0."""
    user = whole_number((await device.shell(["am", "get-current-user"])).text.strip())
    return f"/storage/emulated/{user}" if user else "/sdcard"


def _make(folder: str) -> None:
    Path(folder).mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)


def is_session_id(text: str) -> bool:
    return len(text) <= MAX_ID_LENGTH and re.fullmatch(SESSION_ID[1:-1], text) is not None


async def _latest(device: AdbDevice, pointer: str) -> str:
    """Return the session that was stopped last."""
    stat = await device.stat(pointer)
    if not stat.exists or stat.is_dir:
        raise EngineError(
            ErrorCode.RECORDING_SESSION_NOT_FOUND,
            f"{device.serial} has no finished recording",
            hint="Stop the recording with `clawperator record stop`, or pass --session-id.",
            details={"path": pointer},
        )
    if stat.size > _POINTER_BYTES:
        return ""
    return (await device.pull(pointer, limit=_POINTER_BYTES)).decode(errors="replace").strip()


async def _stat(device: AdbDevice, remote: str) -> FileStat:
    stat = await device.stat(remote)
    if not stat.exists or stat.is_dir:
        name = os.path.basename(remote).removesuffix(SUFFIX)
        _refuse(f"{remote} does not exist on {device.serial}", name)
    return stat


def _refuse(reason: str, session_id: str, *, cause: EngineError | None = None) -> NoReturn:
    details = {"sessionId": session_id} | (dict(cause.details) if cause is not None else {})
    raise EngineError(
        ErrorCode.RECORDING_PULL_FAILED,
        f"The recording could not be fetched: {reason}",
        hint="Check that the recording was stopped and that the device is connected.",
        details=details,
    ) from cause
