"""Several commands for a device's shell in one round trip, each with its own output and exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clawperator.engine.adb.device import SHELL_TIMEOUT, AdbDevice
from clawperator.engine.adb.end_mark import EndMark
from clawperator.engine.adb.failures import broken
from clawperator.engine.adb.quote import device_command


class BatchOutput(NamedTuple):
    """One command's output, stdout and stderr in the order of their writing, and its exit code.

    ``data`` is what it wrote, to the last byte; ``text`` shows bytes that are no UTF-8 as U+FFFD.
    """

    data: bytes
    exit_code: int

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


async def run_commands(
    device: AdbDevice, commands: Iterable[str | Sequence[str]], *, timeout: float | None = SHELL_TIMEOUT
) -> list[BatchOutput]:
    """Run each argument vector, or shell text, after the other, whether or not the previous one succeeded.

    Raises ``EngineError`` (DEVICE_SHELL_UNAVAILABLE and other transport errors) where the output of one is missing.
    """
    texts = [command if isinstance(command, str) else device_command(command) for command in commands]
    return await run_scripts(device, texts, timeout=timeout)


async def run_scripts(
    device: AdbDevice, scripts: Sequence[str], *, timeout: float | None = SHELL_TIMEOUT
) -> list[BatchOutput]:
    """The same for shell texts made by ``quote.device_command`` or ``quote.device_script``."""
    mark = EndMark()
    script = "; ".join(f"{{ {script}; }} 2>&1 </dev/null; {mark.echo()}" for script in scripts)
    result = await device.script(script, timeout=timeout)
    return _split(result.stdout, mark, len(scripts), device.serial)


def _split(output: bytes, mark: EndMark, count: int, serial: str) -> list[BatchOutput]:
    *found, _ = mark.pattern.split(output)
    parts = [BatchOutput(data, int(code)) for data, code in zip(found[::2], found[1::2], strict=True)]
    if len(parts) != count:
        raise broken(f"the device answered {len(parts)} of {count} commands", serial=serial)
    return parts
