"""Typing with key events, which cannot be called back: in pieces, each of which ends before the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

PIECE = 192
"""Keys that are sent at once: on a slow phone they take a few seconds."""
PIECE_SECONDS = 20.0
"""How long the keys of one piece are waited for at most."""


async def ended(work: Coroutine[Any, Any, T], over: asyncio.Event | None = None) -> T:
    """Return the result of ``work``, a piece of keys; if it is cancelled, go on until the device has pressed them.

    ``over`` is set at the end of ``work``, or by the caller when the keys are pressed and ``work`` only reads.
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
