"""Errors of Google's SDK tools: recognise the known ones and say what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from clawperator.engine.emulators.sdk import ToolResult

_LONGEST = 2000
_NO_JAVA = "a suitable Java runtime is missing"
_JAVA_HINT = "Install Java 17 or newer, or set JAVA_HOME."
_JAVA = (
    r"JAVA_HOME|unsupportedclassversion|compiled by a more recent version of the java|requires (jdk|java) \d+"
    r"|java: (command )?not found|unable to locate a java runtime|no java runtime present|could not find (java|libjvm|libjava)"
    r"|unsupported major\.minor version|class file (has wrong )?version|could not create the java virtual machine|'java' (command|is not recognized)"
)
_TRACE = re.compile(r"\s*(?:at [\w.$/]+[(.<]|\.\.\. \d+ more)")


class KnownError(NamedTuple):
    """A failure that the user can fix."""

    summary: str
    hint: str


_KNOWN: tuple[tuple[re.Pattern[str], KnownError], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), KnownError(summary, hint))
    for pattern, summary, hint in (
        (
            r"NoClassDefFoundError: javax/xml/bind|ClassNotFoundException: javax\.xml\.bind",
            _NO_JAVA,
            f"{_JAVA_HINT} These command-line tools are older than it: update them, too (cmdline-tools/latest).",
        ),
        (
            _JAVA,
            _NO_JAVA,
            _JAVA_HINT,
        ),
        (
            r"no space left on device|not enough (free |disk )*space|disk (is )?full|ENOSPC",
            "the disk is full",
            "Free several gigabytes on the disks of the SDK and of the virtual devices, then try again.",
        ),
        (
            r"licen[cs]es?\b[^\n]{0,160}\bnot (been )?accepted|skipping[^\n]{0,80}licen[cs]e",
            "the licenses were not accepted",
            "Run `sdkmanager --licenses` in a terminal and accept them, then try again.",
        ),
        (
            r"requires hardware acceleration|/dev/kvm|KVM (is required|requires)|HAXM is not (installed|working)",
            "hardware acceleration is missing",
            "Switch on virtualisation in the firmware of this computer, and on Linux let this user open /dev/kvm (group kvm).",
        ),
        (
            r"could not connect to display|no Qt platform plugin could be initialized|cannot open display",
            "its window has no display",
            "Start it on a desktop, or with a virtual display: xvfb-run.",
        ),
        (
            r"cannot find AVD system path|broken AVD system path|missing emulator engine|cannot find AVD (folder|data)|unknown AVD name",
            "its files are incomplete",
            "Check ANDROID_HOME and ANDROID_AVD_HOME, and that the system image of the AVD is installed.",
        ),
        (
            r"install properties file|permission denied|access is denied|(folder|directory|file system) is (not writable|read-only)|read-only file system",
            "a folder cannot be written",
            "Let this user write to the folders of the SDK and of the AVDs, or set ANDROID_HOME and ANDROID_AVD_HOME to others.",
        ),
        (
            r"failed to find package|package path is not valid|no matching package|system image[^\n]{0,80}not (found|installed)",
            "the system image does not exist",
            "Look up its id with `sdkmanager --list`. Not every API level is available for every ABI.",
        ),
        (
            r"already exists",
            "the name is already in use",
            "Choose another name, or overwrite the AVD with --force.",
        ),
        (
            r"failed to download|unknownhost|could not resolve|connection (timed out|refused|reset)|unreachable|sslhandshake|PKIX path",
            "the download failed",
            "Check the network connection and the proxy settings, then try again.",
        ),
    )
)


def known_error(output: str) -> KnownError | None:
    """Return the known error that ``output`` reports, if any."""
    return next((known for pattern, known in _KNOWN if pattern.search(output)), None)


def failure_message(tool: str, result: ToolResult) -> str:
    """Return the message for a tool that failed: the line that names a known error, else its stderr without stack traces, else the
    last line of stdout.
    """
    for text in (result.stderr, result.stdout):
        for pattern, known in _KNOWN:
            if found := next(filter(pattern.search, text.splitlines()), ""):
                return f"{tool}: {known.summary}: {found.strip()[:_LONGEST]}"
    if result.stderr.strip() and not result.ok:
        return _without_trace(result.stderr)[-_LONGEST:] or f"{tool} failed: exit code {result.exit_code}"
    lines = result.stdout.strip().splitlines()
    last = lines[-1].strip()[-_LONGEST:] if lines else f"exit code {result.exit_code}"
    return f"{tool} failed: {last}"


def _without_trace(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not _TRACE.match(line)).strip()


def failure_hint(result: ToolResult) -> str | None:
    """Return the hint for a known error; ``None`` leaves the default of the error code."""
    known = known_error(result.output)
    return known.hint if known else None
