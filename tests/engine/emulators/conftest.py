"""The emulator manager with the fake SDK, the real adb server, and time limits of milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from clawperator.engine.adb.server import AdbServer
from clawperator.engine.config.settings import Settings
from clawperator.engine.emulators.limits import Limits
from clawperator.engine.emulators.manager import EmulatorManager
from clawperator.engine.progress import Stage
from tests.sdk.tree import FakeSdk

PATIENT = 30.0
"""Seconds for what is to happen: it happens at once, on a busy machine a little later."""
LIMITS = Limits(
    tool_help=PATIENT,
    list_names=PATIENT,
    list_images=PATIENT,
    licences=PATIENT,
    install_image=PATIENT,
    create=PATIENT,
    delete=PATIENT,
    device=PATIENT,
    register=PATIENT,
    boot=PATIENT,
    poll=0.02,
    booting=PATIENT,
    vanish=PATIENT,
    end=PATIENT,
)

Manage = Callable[..., EmulatorManager]


@pytest.fixture
def sdk(tmp_path: Path, adb_env: dict[str, str]) -> Iterator[FakeSdk]:
    """Whatever a test leaves running is ended after it."""
    fake = FakeSdk(tmp_path, adb_env)
    yield fake
    fake.end()


@pytest.fixture
def manage(sdk: FakeSdk) -> Manage:
    """``manage(limits=…, env={…}, **settings)``: a manager for the fake SDK."""

    def make(limits: Limits = LIMITS, env: dict[str, str] | None = None, **chosen: Any) -> EmulatorManager:
        settings = Settings.resolve(chosen, {**sdk.env, **(env or {})})
        return EmulatorManager(AdbServer.from_env(settings.environment), settings, limits)

    return make


T = TypeVar("T")


async def eventually(look: Callable[[], T | Awaitable[T]]) -> T:
    """What ``look`` finds as soon as it finds anything; processes that are no children of ours tell nobody."""
    async with asyncio.timeout(PATIENT):
        while True:
            found = look()
            value: T = await found if isinstance(found, Awaitable) else found
            if value:
                return value
            await asyncio.sleep(0.01)


class Heard(list[Stage]):
    """A ``on_progress`` that remembers."""

    def __call__(self, stage: Stage) -> None:
        self.append(stage)

    @property
    def ends(self) -> list[tuple[str, str]]:
        """The stages that have ended, and how."""
        return [(stage.name, stage.state) for stage in self if stage.state != "running"]

    def messages(self, name: str) -> list[str]:
        return [stage.message for stage in self if stage.name == name and stage.message]


@pytest.fixture
def heard() -> Heard:
    return Heard()
