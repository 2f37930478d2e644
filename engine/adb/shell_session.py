"""One shell on a device that stays open for several scripts: each costs one round trip and no new process of adb's daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from clawperator.engine.adb.connection import deadline
from clawperator.engine.adb.device import SHELL_TIMEOUT, AdbDevice, ShellResult, ShellStream
from clawperator.engine.adb.end_mark import EndMark
from clawperator.engine.adb.failures import broken, oversized
from clawperator.engine.adb.protocol import MAX_OUTPUT, STDERR, STDOUT, encode_text
from clawperator.engine.adb.quote import device_script
from clawperator.engine.errors import EngineError, ErrorCode


def _ignore(output: bytes) -> None:
    """Ignore output, which is collected anyway."""


class ShellSession:
    """Runs scripts one after the other. ``over``: a script did not come to its end, so that the rest of its output may still arrive."""

    def __init__(self, device: AdbDevice, stream: ShellStream) -> None:
        self._device = device
        self._stream = stream
        self._mark = EndMark()
        self.over = False

    async def run(
        self,
        script: str,
        *,
        timeout: float | None = SHELL_TIMEOUT,
        limit: int = MAX_OUTPUT,
        label: str = "",
        on_output: Callable[[bytes], object] = _ignore,
    ) -> ShellResult:
        """Run shell text made by ``quote.device_script`` in a subshell without input and collect at most ``limit`` bytes.

        ``on_output`` gets stdout while it comes, and ends the script by an exception. ``label`` replaces the text in the log, where it contains secrets. Raises ``TransportError`` if the shell ends.
        """
        serial = self._device.serial
        with self._device.server.trace.of(label or script, serial) as call:
            end = self._mark.echo("$r")
            framed = f"(\n{script}\n) </dev/null; r=$?; {end}; {end} >&2\n"
            if self.over:
                raise broken("the device's shell is in the middle of another script", serial=serial)
            self.over = True
            async with deadline(timeout, "device shell", serial=serial):
                await self._stream.write(encode_text(framed))
                result = await self._collect(limit, on_output)
            self.over = False
            call.exit_code = result.exit_code
            return result

    async def _collect(self, limit: int, on_output: Callable[[bytes], object]) -> ShellResult:
        """Read both channels up to their marks: they may arrive in any order, and other programs' output behind them."""
        found = {STDOUT: bytearray(), STDERR: bytearray()}
        codes: dict[int, int] = {}
        size = passed_on = 0
        async for channel, data in self._stream:
            if (size := size + len(data)) > limit:
                raise oversized("device shell", limit, serial=self._device.serial)
            text = found[channel]
            searched = max(0, len(text) - self._mark.longest)
            text += data
            if channel not in codes and (mark := self._mark.pattern.search(text, searched)) is not None:
                codes[channel] = int(mark[1])
                del text[mark.start() :]
            if channel == STDOUT:
                end = len(text) if channel in codes else max(passed_on, len(text) - self._mark.longest)
                on_output(bytes(text[passed_on:end]))
                passed_on = end
            if len(codes) == len(found):
                return ShellResult(bytes(found[STDOUT]), bytes(found[STDERR]), codes[STDOUT])
        raise broken("the device's shell ended in the middle of a script", serial=self._device.serial)


@asynccontextmanager
async def open_shell(device: AdbDevice) -> AsyncIterator[ShellSession]:
    """Open a shell of ``device``; leaving the block ends it. ``require_sessions`` says whether the device can."""
    async with device.stream(device_script("exec sh"), stdin=None) as stream:
        yield ShellSession(device, stream)


async def require_sessions(device: AdbDevice) -> None:
    """Raise ``EngineError`` (BACKEND_UNAVAILABLE) for a device without shell v2: before Android 7, or behind an old adb server."""
    if "shell_v2" not in await device.features():
        words = f"The stock backend needs Android 7 or later; the shell of {device.serial} is older"
        hint = "Use the operator backend, or update adb on this computer if the device has Android 7 or later."
        raise EngineError(ErrorCode.BACKEND_UNAVAILABLE, words, hint=hint)
