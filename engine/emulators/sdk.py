"""Google's SDK command-line tools: finding them, checking that they start, running one (emulators.md#tools, emulators.md#limits)."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clawperator.engine.adb.binary import find_adb
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.process.child import CannotStartError, capture
from clawperator.engine.process.output import BoundedOutput

TOOLS = ("adb", "emulator", "sdkmanager", "avdmanager")
"""In the order in which missing ones are listed."""
_VARIABLES = {"emulator": "EMULATOR_PATH", "sdkmanager": "SDKMANAGER_PATH", "avdmanager": "AVDMANAGER_PATH"}
_PLACES = {
    "emulator": ("emulator", "emulator"),
    "sdkmanager": ("cmdline-tools", "latest", "bin", "sdkmanager"),
    "avdmanager": ("cmdline-tools", "latest", "bin", "avdmanager"),
}
MAX_STDOUT = 4 * 1024 * 1024
MAX_STDERR = 64 * 1024
"""Bytes of output that are kept: the beginning of stdout, the end of stderr."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool that has ended; ``exit_code`` is negative after a signal."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def output(self) -> str:
        return f"{self.stdout}\n{self.stderr}"


class ToolTimeoutError(Exception):
    """The tool reached its time limit and was stopped."""

    def __init__(self, tool: str, seconds: float) -> None:
        super().__init__(f"{tool} did not end within {seconds:g} s and was stopped")


class Sdk:
    """The tools that ``env`` points at. ``adb_path`` is the configured adb program, '' to search for one."""

    def __init__(self, env: Mapping[str, str], adb_path: str = "") -> None:
        self.env = env
        self._adb_path = adb_path

    def path(self, tool: str) -> str:
        """Return the program to run: from the tool's variable, else from the SDK if it is there, else the bare name."""
        if tool == "adb":
            return find_adb(self.env, self._adb_path or None)
        if chosen := self.env.get(_VARIABLES[tool]):
            return chosen
        root = self.env.get("ANDROID_HOME") or self.env.get("ANDROID_SDK_ROOT")
        inside = os.path.join(root, *_PLACES[tool]) if root else ""
        return inside if inside and os.path.exists(inside) else tool

    def require(self, *tools: str) -> None:
        """Raise ``EngineError`` (ANDROID_SDK_TOOL_MISSING) for programs that are not there; starts none."""
        search = self.env.get("PATH", os.defpath)
        if missing := [tool for tool in tools if shutil.which(self.path(tool), path=search) is None]:
            raise tool_missing(missing)

    async def missing(self, *, timeout: float) -> tuple[str, ...]:
        """Return the tools that cannot be started, in the order of ``TOOLS``."""
        available = await asyncio.gather(*(self._available(tool, timeout) for tool in TOOLS))
        return tuple(tool for tool, found in zip(TOOLS, available, strict=True) if not found)

    async def _available(self, tool: str, timeout: float) -> bool:
        """Return whether ``--help`` exits with 0 or 1, or prints anything."""
        lines: list[str] = []
        try:
            done = await self.run(tool, ["--help"], timeout=timeout, on_line=lines.append)
        except EngineError:
            return False
        except ToolTimeoutError:
            return bool(lines)
        return done.exit_code in (0, 1) or bool(done.output.strip())

    async def run(
        self,
        tool: str,
        arguments: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        on_line: Callable[[str], object] | None = None,
    ) -> ToolResult:
        """Run ``tool`` to its end; a timeout and a cancellation kill it with everything that it started.

        ``on_line`` gets every line of its output that is not blank; of text that is overwritten, the last.

        Raises ``EngineError`` ANDROID_SDK_TOOL_MISSING, and ``ToolTimeoutError``.
        """
        try:
            done = await capture(
                [self.path(tool), *arguments],
                self.env,
                stdout=BoundedOutput(MAX_STDOUT),
                stderr=BoundedOutput(0, MAX_STDERR),
                on_line=on_line,
                seconds=timeout,
                patience=0.0,
                stdin=stdin,
            )
        except (EngineError, CannotStartError) as exc:  # EngineError: no adb was found
            raise tool_missing((tool,)) from exc
        except TimeoutError as exc:
            raise ToolTimeoutError(tool, timeout) from exc
        return ToolResult(done.exit_code, done.stdout.beginning, done.stderr.ending)


def tool_missing(tools: Sequence[str]) -> EngineError:
    """Return the error for tools that cannot be started."""
    message = f"Android SDK tools are missing: {', '.join(tools)}"
    return EngineError(ErrorCode.ANDROID_SDK_TOOL_MISSING, message, details={"missingTools": list(tools)})
