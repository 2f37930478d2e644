"""The engine of this computer, opened after the first frame: its import takes longer than the frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from clawperator.engine.errors import EngineError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from clawperator.engine.config.settings import Settings


class LateEngine:
    """Use as ``async with LateEngine(settings, factory) as engine``; after ``open`` it has the attributes of an engine."""

    def __init__(self, settings: Settings, factory: Callable[[Settings], AbstractAsyncContextManager[Any]]) -> None:
        self.settings = settings
        self.error: EngineError | None = None
        """Why it could not be opened."""
        self._factory = factory
        self._closing = AsyncExitStack()

    def backend_of(self, device_id: str) -> str:
        """Return the backend of executions on a device; the first frame names it."""
        engine = self.__dict__.get("_engine")
        return str(self.settings.backend if engine is None else engine.backend_of(device_id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._closing.aclose()

    async def open(self) -> bool:
        """Import and open the engine, without blocking the loop; return false with the reason in ``error``."""
        await asyncio.to_thread(import_module, "clawperator.engine.facade")
        try:
            self._engine = await self._closing.enter_async_context(self._factory(self.settings))
        except EngineError as exc:
            self.error = exc
        return self.error is None

    def __getattr__(self, name: str) -> Any:
        if name == "_engine":
            raise AttributeError("The engine is not open")
        return getattr(self._engine, name)
