"""Checks of this computer: Python, helper programs, adb (doctor.md#checks). Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clawperator.engine.doctor.check import Check, manual, shell
from clawperator.engine.doctor.fix_commands import SERVER_COMMANDS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.numbers import whole_number

if TYPE_CHECKING:
    from clawperator.engine.doctor.adb_servers import ServerProcess
    from clawperator.engine.skills.registry import Registry

MINIMUM_PYTHON = (3, 11)
MINIMUM_NODE = 22
_LISTED = 5
"""How many invalid registry entries are reported."""
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){1,5}", re.ASCII)
_PROTOCOL = re.compile(r"Android Debug Bridge version 1\.0\.(\d{1,6})", re.ASCII)
_JAVA = ('version "17', 'version "21', "openjdk 17", "openjdk 21")
_ADB_HINTS = manual(
    "Debian, Ubuntu: apt install adb",
    "macOS: brew install --cask android-platform-tools",
    "Or download the Android SDK Platform-Tools and set ADB_PATH to its adb.",
)
RESTART = shell(*SERVER_COMMANDS)
_ELSEWHERE = manual("Check ADB_SERVER_SOCKET, and restart the adb server on the computer that it names.")
"""For a server on another computer, which is not restarted from here."""


def python_version(running: Sequence[int] = sys.version_info[:3]) -> Check:
    """Check the version of the running interpreter."""
    check_id = "host.python.version"
    here = ".".join(map(str, running))
    if tuple(running[:2]) >= MINIMUM_PYTHON:
        return Check(check_id, "pass", f"Python {here}", evidence={"version": here})
    needed = ".".join(map(str, MINIMUM_PYTHON))
    return Check(
        check_id,
        "fail",
        f"Python {here} is older than {needed}",
        ErrorCode.RUNTIME_TOO_OLD,
        fix_title="Upgrade Python",
        fix=manual(f"Install Python {needed} or newer and reinstall clawperator with it."),
    )


def node_version(output: str | None) -> Check:
    """Check ``node --version`` (``None`` if it does not run). Advisory: only JavaScript skills need it."""
    check_id = "host.node.version"
    why = "Only skills written in JavaScript (.js) require it."
    advice = manual(f"Install Node.js {MINIMUM_NODE} or newer if you run .js skills.")
    if output is None:
        code = ErrorCode.HOST_DEPENDENCY_MISSING
        return Check(check_id, "warn", "Node.js was not found", code, why, "Install Node.js", advice)
    version = output.strip().removeprefix("v")
    major = whole_number(version.partition(".")[0])
    if major is None:
        return Check(check_id, "pass", "Node.js is installed", evidence={"version": version[:80]})
    if major < MINIMUM_NODE:
        summary = f"Node.js {version} is older than {MINIMUM_NODE}"
        return Check(check_id, "warn", summary, ErrorCode.NODE_TOO_OLD, why, "Upgrade Node.js", advice)
    return Check(check_id, "pass", f"Node.js {version}", evidence={"version": version})


def git_presence(output: str | None) -> Check:
    """Check ``git --version`` (``None`` if it does not run). Advisory: only installing skills needs it."""
    check_id = "host.git.presence"
    if output is None:
        return Check(
            check_id,
            "warn",
            "git was not found",
            ErrorCode.HOST_DEPENDENCY_MISSING,
            "It is required to install and update skills.",
            "Install git",
            manual("Install git with the package manager of your system."),
        )
    version = _VERSION.search(output)
    return Check(check_id, "pass", f"git {version[0] if version else 'found'}")


def skills_registry(found: Registry | EngineError) -> Check:
    """Check that every entry of the skills registry is usable. Advisory."""
    check_id = "host.skills.registry"
    if isinstance(found, EngineError):
        if "checked" in found.details:
            return Check(check_id, "pass", "No skills are installed. The built-in skills are available")
        summary = "The skills registry cannot be read"
        return Check(check_id, "warn", summary, found.code, found.message, "Correct the registry", manual(found.hint))
    evidence: dict[str, Any] = {"path": found.path, "skills": len(found.skills)}
    count = len(found.left_out)
    if not count:
        return Check(check_id, "pass", f"{len(found.skills)} skills in the registry", evidence=evidence)
    evidence["warnings"] = found.warnings[:_LISTED]
    summary = (
        f"{count} {'entry' if count == 1 else 'entries'} of the skills registry {'is' if count == 1 else 'are'} ignored"
    )
    detail = "\n".join(warning["message"] for warning in evidence["warnings"])
    code = ErrorCode.REGISTRY_READ_FAILED
    fix = manual(f"Correct {'it' if count == 1 else 'them'} in {found.path}.")
    return Check(check_id, "warn", summary, code, detail, "Correct the registry", fix, evidence=evidence)


def adb_presence(path: str, output: str | None, *, server_at: str = "", chosen: str = "") -> Check:
    """Check the adb program at ``path`` ('' if not found) by the output of ``adb version`` (``None`` if it does not run).

    ``server_at`` is the address of a running server, which is enough for everything but starting one. ``chosen`` is the path in
    the settings, the only one that is searched.
    """
    check_id = "host.adb.presence"
    if output is not None:
        version = _VERSION.search(output.partition("Version")[2] or output)
        shown = version[0] if version else "of unknown version"
        return Check(check_id, "pass", f"adb {shown}", evidence={"version": shown, "path": path})
    title, code, hints = "Install the Android platform tools", ErrorCode.ADB_NOT_FOUND, _ADB_HINTS
    searched = "Searched PATH and the Android SDK folders."
    if chosen:
        searched = f"ADB_PATH or the setting adb_path is {chosen}, which is not a program."
        title, hints = "Correct the path", manual("Correct or remove it, so that PATH and the SDK are searched.")
    if server_at:
        detail = f"Clawperator uses the server at {server_at}, but cannot restart it without the adb program."
        summary = "adb was not found, but an adb server answers"
        return Check(check_id, "warn", summary, code, detail, title, hints)
    summary = f"{path} does not run" if path else "adb was not found"
    detail = "It did not print its version." if path else searched
    return Check(check_id, "fail", summary, code, detail, title, hints)


def adb_server(address: str, answer: int | EngineError, *, local: bool = True) -> Check:
    """Check that the adb server answers with its protocol version; ``local``: it is on this computer."""
    check_id = "host.adb.server"
    if isinstance(answer, EngineError):
        return Check(
            check_id,
            "fail",
            "The adb server cannot be reached",
            ErrorCode.ADB_SERVER_FAILED,
            answer.message,
            "Restart the adb server",
            RESTART if local else _ELSEWHERE,
        )
    return Check(check_id, "pass", f"adb server at {address}", evidence={"address": address, "protocol": answer})


def adb_version(output: str, protocol: int, *, local: bool = True) -> Check:
    """Check that the adb program (``output``) and the server use the same protocol version: otherwise adb restarts it."""
    check_id = "host.adb.version"
    match = _PROTOCOL.search(output)
    if match is None:
        return Check(check_id, "pass", "The adb program does not report its protocol version")
    ours = int(match[1])
    evidence = {"program": ours, "server": protocol}
    if ours == protocol:
        return Check(
            check_id, "pass", f"The adb program and server both use protocol version {ours}", evidence=evidence
        )
    return Check(
        check_id,
        "warn",
        f"The adb program uses protocol version {ours}, the running server {protocol}",
        detail="An adb command of another version restarts the server and drops all of its connections.",
        fix_title="Use a single adb version",
        fix=(
            *(RESTART if local else _ELSEWHERE),
            *manual("Remove the other adb from PATH, or set ADB_PATH to the version to use."),
        ),
        evidence=evidence,
    )


def adb_servers(found: Sequence[ServerProcess] | None, port: int) -> Check:
    """Check for other adb servers on this computer, which may claim USB devices; ``port`` is that of the server in use."""
    check_id = "host.adb.servers"
    if found is None:
        return Check(check_id, "pass", "Other adb servers cannot be detected on this system")
    ours = next((server for server in found if server.port == port), None)
    others = [server for server in found if server is not ours]
    if not others:
        return Check(check_id, "pass", "No other adb server is running on this computer")
    evidence = {"servers": [{"pid": server.pid, "port": server.port} for server in others], "port": port}
    named = ", ".join(f"pid {server.pid} on {server.place}" for server in others)
    return Check(
        check_id,
        "warn",
        f"{len(others)} other adb server{'s are running' if len(others) > 1 else ' is running'} on this computer",
        detail=f"{named}. A USB device is visible to only one of them. They belong to other programs. Do not stop them.",
        evidence=evidence,
    )


def java_version(output: str | None) -> Check:
    """Check the output of ``java -version`` (``None`` if it does not run); Gradle needs it."""
    check_id = "host.java.version"
    fix = manual("Install a JDK 17 or 21 and put it first in PATH.")
    text = (output or "").strip().lower()
    first = text.partition("\n")[0][:200]
    if any(known in text for known in _JAVA):
        return Check(check_id, "pass", f"Java: {first}", evidence={"version": first})
    summary = "Java was not found" if output is None else "Java is neither version 17 nor 21"
    return Check(check_id, "fail", summary, ErrorCode.HOST_DEPENDENCY_MISSING, first, "Install Java 17 or 21", fix)
