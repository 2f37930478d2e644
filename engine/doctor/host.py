"""Checks of this computer: interpreter, helpers, adb."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import Mapping

from clawperator.engine.adb.binary import find_adb, run_program
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.doctor.check import Check, manual, shell
from clawperator.engine.errors import EngineError, ErrorCode

MINIMUM_PYTHON = (3, 11)
MINIMUM_NODE = 22
_TOOL_SECONDS = 5.0
_VERSION = re.compile(r"\d+(?:\.\d+)+")


async def python_version() -> Check:
    here = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= MINIMUM_PYTHON:
        return Check("host.python.version", "pass", f"Python {here}", evidence={"version": here})
    needed = ".".join(map(str, MINIMUM_PYTHON))
    return Check(
        "host.python.version",
        "fail",
        f"Python {here} is older than {needed}",
        ErrorCode.RUNTIME_TOO_OLD,
        fix_title="Upgrade Python",
        fix=manual(f"Install Python {needed} or newer and reinstall clawperator with it."),
    )


async def node_version(env: Mapping[str, str]) -> Check:
    """Advisory: only skills written in JavaScript need Node."""
    text = await tool_output("node", "--version", env=env)
    if text is None:
        return Check(
            "host.node.version",
            "warn",
            "Node.js was not found",
            ErrorCode.HOST_DEPENDENCY_MISSING,
            "Only skills written in JavaScript (.js) need it.",
            "Install Node.js",
            manual(f"Install Node.js {MINIMUM_NODE} or newer if you run .js skills."),
        )
    version = text.strip().removeprefix("v")
    major = version.partition(".")[0]
    if major.isdigit() and int(major) < MINIMUM_NODE:
        return Check(
            "host.node.version",
            "warn",
            f"Node.js {version} is older than {MINIMUM_NODE}",
            ErrorCode.NODE_TOO_OLD,
            "Only skills written in JavaScript (.js) need it.",
            "Upgrade Node.js",
            manual(f"Install Node.js {MINIMUM_NODE} or newer if you run .js skills."),
        )
    return Check("host.node.version", "pass", f"Node.js {version}", evidence={"version": version})


async def git_presence(env: Mapping[str, str]) -> Check:
    """Advisory: skills are fetched with git."""
    text = await tool_output("git", "--version", env=env)
    if text is None:
        return Check(
            "host.git.presence",
            "warn",
            "git was not found",
            ErrorCode.HOST_DEPENDENCY_MISSING,
            "Skills are installed and updated with it.",
            "Install git",
            manual("Install git with the package manager of your system."),
        )
    version = _VERSION.search(text)
    return Check("host.git.presence", "pass", f"git {version[0] if version else 'found'}")


async def adb_presence(server: AdbServer, env: Mapping[str, str]) -> Check:
    """The adb program itself; a server that answers without it is enough for everything but starting one."""
    try:
        path = find_adb(env)
    except EngineError:
        path = ""
    text = await tool_output(path, "version", env=env) if path else None
    if text is not None:
        version = _VERSION.search(text.partition("Version")[2] or text)
        shown = version[0] if version else "of unknown version"
        return Check("host.adb.presence", "pass", f"adb {shown}", evidence={"version": shown, "path": path})
    fix = manual(
        "Debian, Ubuntu: apt install adb",
        "macOS: brew install --cask android-platform-tools",
        "Or download the Android SDK Platform-Tools and set ADB_PATH to its adb.",
    )
    if await _answers(server):
        return Check(
            "host.adb.presence",
            "warn",
            "adb was not found, but an adb server answers",
            ErrorCode.ADB_NOT_FOUND,
            f"The server at {server.address} is used; without the program it cannot be started again.",
            "Install the Android platform tools",
            fix,
        )
    return Check(
        "host.adb.presence",
        "fail",
        f"{path} does not run" if path else "adb was not found",
        ErrorCode.ADB_NOT_FOUND,
        "It did not print its version." if path else "Looked in ADB_PATH, PATH and the Android SDK folders.",
        "Install the Android platform tools",
        fix,
    )


async def _answers(server: AdbServer) -> bool:
    try:
        (await server.connect(start=False)).close()
    except EngineError:
        return False
    return True


async def adb_server(server: AdbServer) -> Check:
    try:
        await server.ensure_running()
        version = await server.version()
    except EngineError as exc:
        return Check(
            "host.adb.server",
            "fail",
            "The adb server cannot be reached",
            ErrorCode.ADB_SERVER_FAILED,
            exc.message,
            "Restart the adb server",
            shell("adb kill-server", "adb start-server"),
        )
    return Check(
        "host.adb.server",
        "pass",
        f"adb server at {server.address}",
        evidence={"address": str(server.address), "protocol": version},
    )


async def tool_output(name: str, *arguments: str, env: Mapping[str, str]) -> str | None:
    """What a host program prints, ``None`` when it is missing, fails or hangs for five seconds."""
    path = shutil.which(name, path=env.get("PATH"))
    if path is None:
        return None
    try:
        async with asyncio.timeout(_TOOL_SECONDS):
            exit_code, output = await run_program([path, *arguments], env, stderr=asyncio.subprocess.DEVNULL)
    except (OSError, TimeoutError):
        return None
    return output.decode(errors="replace") if exit_code == 0 else None
