"""Input events cannot be called back: what has begun ends before the answer, and long texts are typed in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

PIECE = 96
"""Keys of a long text that are sent at once: so long the answer may come after the time limit, on a slow phone two seconds."""
SHORT = 192
"""Keys that are sent at once if there are no more."""
PIECE_SECONDS = 20.0
"""How long one piece, or one gesture, is awaited at most."""


def set_at(mark: bytes, over: asyncio.Event) -> Callable[[bytes], None]:
    """Return what takes output while it comes, and sets ``over`` when ``mark`` has come."""
    heard = bytearray()

    def hear(output: bytes) -> None:
        heard.extend(output if not over.is_set() else b"")
        if mark in heard:
            over.set()

    return hear


async def ended(work: Coroutine[Any, Any, T], over: asyncio.Event | None = None) -> T:
    """Return the result of ``work``, which sends input; if it is cancelled, go on until the device has done that.

    ``over`` is set at the end of ``work``, or by the caller when the input is over and ``work`` only reads.
    """
    over = over or asyncio.Event()

    async def whole() -> T:
        result = await work
        over.set()
        return result

    task = asyncio.ensure_future(whole())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        pressed = asyncio.ensure_future(over.wait())
        await asyncio.wait({task, pressed}, timeout=PIECE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        pressed.cancel()
        raise
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
