"""Google's SDK command-line tools: finding them, checking that they start, running one (emulators.md#tools, emulators.md#limits)."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clawperator.engine.adb.binary import find_adb, named_sdks, usual_sdks
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.process.child import CannotStartError, capture
from clawperator.engine.process.output import BoundedOutput
from clawperator.engine.text.numbers import whole_number

TOOLS = ("adb", "emulator", "sdkmanager", "avdmanager")
"""In the order in which missing ones are listed."""
_VARIABLES = {"emulator": "EMULATOR_PATH", "sdkmanager": "SDKMANAGER_PATH", "avdmanager": "AVDMANAGER_PATH"}
_COMMAND_LINE_TOOLS = ("cmdline-tools/latest/bin", "cmdline-tools/*/bin", "cmdline-tools/bin", "tools/bin")
"""Where an SDK has them: by the SDK manager, in a version of their own (the newest is taken), unzipped by hand, and before 2020."""
_PLACES = {"emulator": ("emulator", "tools")}
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
    """The tools that ``env`` points at. ``adb_path`` is the configured adb program, '' to search for one; ``avd_home`` the folder of
    the AVDs, which the tools get in their environment: by themselves, avdmanager and the emulator look in different ones if ``XDG_CONFIG_HOME`` is set.
    """

    def __init__(self, env: Mapping[str, str], adb_path: str = "", avd_home: str = "") -> None:
        self._env = env
        self._adb_path = adb_path
        self._avd_home = avd_home

    @property
    def env(self) -> Mapping[str, str]:
        """The environment of the tools."""
        home = self._avd_home
        return {**self._env, "ANDROID_AVD_HOME": home} if home and os.path.isdir(home) else self._env

    def path(self, tool: str) -> str:
        """Return the program to run: from the tool's variable, else from the SDK of the environment if it is there, else the bare
        name, or where the ``PATH`` has none, from an SDK in a usual folder.
        """
        env = self._env
        if tool == "adb":
            return find_adb(env, self._adb_path or None)
        if chosen := env.get(_VARIABLES[tool]):
            return chosen
        if inside := _in_sdk(tool, named_sdks(env)):
            return inside
        known = shutil.which(tool, path=env.get("PATH", os.defpath))
        return tool if known else _in_sdk(tool, usual_sdks(env)) or tool

    def require(self, *tools: str) -> None:
        """Raise ``EngineError`` (ANDROID_SDK_TOOL_MISSING) for programs that are not there; starts none."""
        search = self._env.get("PATH", os.defpath)
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


def _in_sdk(tool: str, roots: Sequence[Path]) -> str:
    """Return the first program of the name in the SDKs; '' without one."""
    for root in roots:
        for place in _PLACES.get(tool, _COMMAND_LINE_TOOLS):
            found = sorted(root.glob(f"{place}/{tool}"), key=_version, reverse=True)
            if found:
                return str(found[0])
    return ""


def _version(program: Path) -> tuple[int, ...]:
    """The numbers of the folder ``cmdline-tools/VERSION``: 9.0 is older than 11.0."""
    numbers = re.findall(r"\d{1,9}", program.parent.parent.name, re.ASCII)
    return tuple(whole_number(number) or 0 for number in numbers)


def tool_missing(tools: Sequence[str]) -> EngineError:
    """Return the error for tools that cannot be started."""
    message = f"Android SDK tools are missing: {', '.join(tools)}"
    return EngineError(ErrorCode.ANDROID_SDK_TOOL_MISSING, message, details={"missingTools": list(tools)})
