"""The virtual devices of the server's computer over its HTTP API."""

from __future__ import annotations

import os
from typing import Annotated, NoReturn
from urllib.parse import quote

from pydantic import Field, RootModel

from clawperator.app.client.http_client import Client
from clawperator.app.client.wire import EngineValue, Name, Wire
from clawperator.engine.emulators.avds import Avd
from clawperator.engine.emulators.lifecycle import Stopped
from clawperator.engine.emulators.running import RunningEmulator
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import OnProgress, Stage, unreported

_WORK_SECONDS = {"create": 1_900.0, "start": 300.0, "stop": 120.0, "delete": 120.0}
"""Time limits of the answers: longer than the engine's own."""


_Avd = RootModel[Annotated[Avd, EngineValue()]]
_Running = RootModel[Annotated[RunningEmulator, EngineValue()]]


class _Avds(Wire):
    avds: Annotated[list[_Avd], Field(max_length=10_000)]


class _AllRunning(Wire):
    devices: Annotated[list[_Running], Field(max_length=10_000)]


class _Stopped(Wire):
    class Details(Wire):
        serial: Name = ""
        still_listed: bool = False

    avd_name: Name
    details: Details = Field(default_factory=Details)


class RemoteEmulators:
    """``EmulatorManager`` over a server. ``home``, whose files are watched, is a folder without changes."""

    home = os.path.dirname(__file__)
    supported_abis: tuple[str, ...] = ()

    def __init__(self, client: Client) -> None:
        self._client = client

    async def avds(self) -> tuple[Avd, ...]:
        return tuple(one.root for one in (await self._client.get(_Avds, "android/emulators")).avds)

    async def status(self) -> tuple[RunningEmulator, ...]:
        return tuple(one.root for one in (await self._client.get(_AllRunning, "android/emulators/running")).devices)

    async def create(self, name: str = "", *, on_progress: OnProgress = unreported) -> Avd:
        on_progress(Stage("create", "create_avd", "running"))
        made = await self._client.post(
            _Avd, "android/emulators/create", {"name": name} if name else {}, seconds=_WORK_SECONDS["create"]
        )
        on_progress(Stage("create", "create_avd", "done"))
        return made.root

    async def start(self, name: str, *, on_progress: OnProgress = unreported) -> RunningEmulator:
        on_progress(Stage("start", "start", "running"))
        run = await self._client.post(_Running, _path(name, "start"), {}, seconds=_WORK_SECONDS["start"])
        on_progress(Stage("start", "start", "done"))
        return run.root

    async def stop(self, name: str, *, on_progress: OnProgress = unreported) -> Stopped:
        on_progress(Stage("stop", "stop", "running"))
        answer = await self._client.post(_Stopped, _path(name, "stop"), {}, seconds=_WORK_SECONDS["stop"])
        on_progress(Stage("stop", "stop", "done"))
        return Stopped(answer.avd_name, answer.details.serial, gone=not answer.details.still_listed)

    async def delete(self, name: str) -> None:
        await self._client.delete(_path(name), seconds=_WORK_SECONDS["delete"])

    async def plan(self, name: str = "") -> NoReturn:  # noqa: ARG002  # the shape of a manager
        _refuse()

    async def provision(self, name: str = "", *, on_progress: OnProgress = unreported) -> NoReturn:  # noqa: ARG002  # the shape of a manager
        _refuse()


def _path(name: str, verb: str = "") -> str:
    return f"android/emulators/{quote(name, safe='')}{f'/{verb}' if verb else ''}"


def _refuse() -> NoReturn:
    raise EngineError(
        ErrorCode.BACKEND_UNAVAILABLE,
        "Provisioning is planned on the server's own computer",
        hint="Run there: clawperator provision emulator. Press S to start an existing virtual device.",
    )
