"""Find the adb binary, and start an adb server where none listens. A running server is never stopped."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from clawperator.engine.adb.protocol import Address
from clawperator.engine.errors import EngineError, ErrorCode

_OUTPUT_BYTES = 64 * 1024
"""Limit of the output that is read: versions and error messages are short."""
_VERSION_SECONDS = 5.0


def find_adb(env: Mapping[str, str], adb_path: str | None = None) -> str:
    """Path of the adb binary: ``adb_path`` or ``ADB_PATH`` alone where one is given, else PATH, then the SDK folders.

    Raises ``EngineError`` ADB_NOT_FOUND with ``details.searched``.
    """
    chosen = adb_path or env.get("ADB_PATH")
    candidates = [chosen] if chosen else ["adb", *_sdk_candidates(env)]
    for candidate in candidates:
        if found := shutil.which(candidate, path=env.get("PATH", os.defpath)):
            return found
    where = f"at {chosen}" if chosen else "on PATH or in the Android SDK"
    raise EngineError(ErrorCode.ADB_NOT_FOUND, f"no adb {where}", details={"searched": candidates})


def _sdk_candidates(env: Mapping[str, str]) -> list[str]:
    return [str(root / "platform-tools" / "adb") for root in (*named_sdks(env), *_installed_sdks(env))]


def named_sdks(env: Mapping[str, str]) -> list[Path]:
    """Return the SDK folders that the environment names."""
    return [Path(env[name]) for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT") if env.get(name)]


def usual_sdks(env: Mapping[str, str]) -> list[Path]:
    """Return the SDK of the ``adb`` on the PATH, and the folders where Android Studio, Homebrew and distributions put one."""
    adb = Path(shutil.which("adb", path=env.get("PATH", os.defpath)) or "").resolve()
    return [*([adb.parent.parent] if adb.parent.name == "platform-tools" else []), *_installed_sdks(env)]


def _installed_sdks(env: Mapping[str, str]) -> list[Path]:
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    if sys.platform == "darwin":
        brew = (Path(root, "share/android-commandlinetools") for root in ("/opt/homebrew", "/usr/local"))
        return [home / "Library/Android/sdk", *brew]
    if sys.platform == "win32":
        return [Path(env.get("LOCALAPPDATA", home)) / "Android/Sdk"]
    places = ("/usr/lib/android-sdk", "/opt/android-sdk", "/usr/local/lib/android/sdk")
    return [home / "Android/Sdk", *map(Path, places)]


async def start_server(address: Address, env: Mapping[str, str]) -> None:
    """Start a server at ``address`` and return when it accepts connections; cancelling ends the process.

    Raises ``EngineError`` ADB_NOT_FOUND or ADB_SERVER_FAILED.
    """
    command = _start_command(address, find_adb(env))
    try:
        exit_code, output = await run_program(command, env)
    except OSError as exc:
        raise _not_startable(command, exc) from exc
    if exit_code:
        raise _start_failed(address, output, exit_code)


async def run_program(command: Sequence[str], env: Mapping[str, str]) -> tuple[int, bytes]:
    """Exit code and output of a program of this computer; raises ``OSError``; cancelling ends the process.

    The output goes to a file: a pipe would stay open for as long as any descendant (a daemon, a child of a wrapper script)
    has it.
    """
    with TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *command, env=dict(env), stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=asyncio.subprocess.STDOUT
        )
        try:
            exit_code = await process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        output.seek(0)
        return exit_code, output.read(_OUTPUT_BYTES)


async def program_version(env: Mapping[str, str]) -> str:
    """The version of the adb program, e.g. ``29.0.6-debian``; empty where there is none or it prints none."""
    try:
        async with asyncio.timeout(_VERSION_SECONDS):
            _, output = await run_program([find_adb(env), "version"], env)
    except (OSError, EngineError, TimeoutError):
        return ""
    found = re.search(r"^Version (\S{1,40})\s*$", output.decode(errors="replace"), re.MULTILINE)
    return found[1] if found else ""


def start_server_blocking(address: Address, env: Mapping[str, str], timeout: float) -> None:
    """The same for light commands that run no event loop; ``timeout`` in seconds."""
    command = _start_command(address, find_adb(env))
    try:
        with TemporaryFile() as output:  # not a pipe: see run_program
            done = subprocess.run(  # noqa: S603 - an argument vector: our own flags after a path the user chose
                command,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
            )
            output.seek(0)
            printed = output.read(_OUTPUT_BYTES)
    except subprocess.TimeoutExpired as exc:
        raise _start_failed(address, b"it did not finish in time", -1) from exc
    except OSError as exc:
        raise _not_startable(command, exc) from exc
    if done.returncode:
        raise _start_failed(address, printed, done.returncode)


def _start_command(address: Address, adb: str) -> list[str]:
    """Adb prefers flags to the environment. ``-P`` listens on loopback, the only case that ``is_local`` accepts."""
    where = ["-L", str(address)] if address.path else ["-P", str(address.port)]
    return [adb, *where, "start-server"]


def _start_failed(address: Address, output: bytes, exit_code: int) -> EngineError:
    text = " ".join(output.decode(errors="replace").split())
    return EngineError(
        ErrorCode.ADB_SERVER_FAILED,
        f"adb start-server failed at {address}: {text or 'no output'}",
        details={"exitCode": exit_code, "output": text, "address": str(address)},
    )


def _not_startable(command: Sequence[str], exc: OSError) -> EngineError:
    return EngineError(
        ErrorCode.ADB_NOT_FOUND, f"{command[0]} cannot be run: {exc.strerror}", details={"searched": [command[0]]}
    )
