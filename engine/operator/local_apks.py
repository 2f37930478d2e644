"""The Operator APKs on this computer, and where to download them (doctor.md#versions)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from clawperator.engine.config.settings import home_folder
from clawperator.engine.contracts.operator_identity import (
    ANDROPERATOR,
    CLAWPERATOR,
    DEBUG_PACKAGE,
    OPERATOR_BRANDS,
    OPERATOR_PACKAGES,
    newest_of,
)
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.apk import ApkFacts, read_apk, refused
from clawperator.engine.version import OPERATOR_RELEASES

TESTED_URLS = tuple(brand.release_url(OPERATOR_RELEASES[newest_of(brand)]) for brand in reversed(OPERATOR_BRANDS))
"""The newest release of each brand that the product is tested with."""
RELEASE_FILE, DEBUG_FILE = "operator.apk", "operator-debug.apk"
MAX_LOOKED_AT = 2_000
MAX_READ = 50


@dataclass(frozen=True, slots=True)
class ApkProblem:
    """A file named ``*.apk`` that is not an Operator APK."""

    path: str
    error: EngineError


def folder(env: Mapping[str, str]) -> str:
    """Return ``~/.clawperator/downloads``."""
    return os.path.join(home_folder(env), "downloads")


def found_apks(env: Mapping[str, str]) -> tuple[ApkFacts | ApkProblem, ...]:
    """Return every ``*.apk`` of the folder, newest first; blocks. Never raises: a missing folder is empty."""
    return tuple(_read(path) for path in islice(_newest_first(folder(env)), MAX_READ))


def choose_apk(env: Mapping[str, str], package: str = "") -> ApkFacts:
    """Return the default APK: ``operator.apk``, then ``operator-debug.apk``, then the newest other one; blocks.

    ``package`` requires the APK of that app; for the debug package, ``operator-debug.apk`` comes first.

    Raises ``EngineError``: OPERATOR_APK_NOT_FOUND with the download URLs, or the error of an invalid file of these names.
    """
    paths = list(islice(_newest_first(folder(env)), MAX_READ))
    order = (DEBUG_FILE, RELEASE_FILE) if package == DEBUG_PACKAGE else (RELEASE_FILE, DEBUG_FILE)
    paths.sort(key=lambda path: order.index(name) if (name := os.path.basename(path)) in order else len(order))
    problems: list[ApkProblem] = []
    for path in paths:
        found = _read(path)
        if isinstance(found, ApkFacts):
            if package in ("", found.package):
                return found
        elif os.path.basename(path) in order:
            raise found.error
        else:
            problems.append(found)
    raise _missing(env, package, problems)


def _missing(env: Mapping[str, str], package: str, problems: list[ApkProblem]) -> EngineError:
    what = f"APK of {package}" if package else "Operator APK"
    error = EngineError(
        ErrorCode.OPERATOR_APK_NOT_FOUND,
        f"No {what} was found in {folder(env)}",
        hint=f"Download {ANDROPERATOR.newest_url} (from {ANDROPERATOR.since} on) or {CLAWPERATOR.newest_url} (up to {newest_of(CLAWPERATOR)}) into that folder as {RELEASE_FILE}, "
        f"or pass its path with --apk. Tested: {' and '.join(TESTED_URLS)}, with its .sha256 each. APKs are never downloaded automatically.",
        details={"folder": folder(env), "urls": [ANDROPERATOR.newest_url, CLAWPERATOR.newest_url, *TESTED_URLS]},
    )
    if problems:
        error.details["unusable"] = [
            {"path": problem.path, "reason": problem.error.message} for problem in problems[:10]
        ]
    return error


def _newest_first(path: str) -> Iterator[str]:
    found: list[tuple[float, str]] = []
    try:
        with os.scandir(path) as entries:
            for entry in islice(entries, MAX_LOOKED_AT):
                if not entry.name.lower().endswith(".apk") or entry.name.startswith("."):
                    continue
                try:
                    facts = entry.stat()
                except OSError:
                    continue
                if stat.S_ISREG(facts.st_mode):
                    found.append((facts.st_mtime, entry.path))
    except OSError:
        return
    found.sort(key=lambda item: (-item[0], item[1]))
    yield from (path for _, path in found)


def _read(path: str) -> ApkFacts | ApkProblem:
    try:
        apk = read_apk(path)
    except EngineError as exc:
        return ApkProblem(path, exc)
    if apk.package not in OPERATOR_PACKAGES:
        return ApkProblem(path, refused(path, f"it is {apk.package}, not the Operator app"))
    return apk
