"""A bundle for a bug report: versions, settings, locks, runs and doctor checks, without personal data.

Everything passes one ``Redactor``. What a redactor cannot recognise by its shape is left out: texts of screens, payloads, names
chosen by callers, messages of exceptions. A part that cannot be collected is listed as left out.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import platform
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from clawperator.engine.bundles.archive import BundleFile, listing, zipped
from clawperator.engine.config.environment import settings_path
from clawperator.engine.config.policy import OBSERVE, WRITE_FILES
from clawperator.engine.config.settings import crash_path
from clawperator.engine.diagnostics.safe_logs import mask
from clawperator.engine.errors import EngineError
from clawperator.engine.files.regular import open_regular
from clawperator.engine.text.redact import Redactor, without_messages
from clawperator.engine.version import __version__

if TYPE_CHECKING:
    from clawperator.engine.doctor.check import Check
    from clawperator.engine.facade import Engine
    from clawperator.engine.guard import Guard

DOCTOR_SECONDS = 30.0
"""A device that hangs must not prevent the rest of the report."""
_CRASH_BYTES = 64 * 1024
_PACKAGES = ("textual", "rich", "pydantic", "watchfiles", "platformdirs", "textual-image", "textual-serve")
_TERMINAL_VARIABLES = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "LANG",
    "LC_ALL",
    "COLORFGBG",
    "NO_COLOR",
    "TMUX",
    "STY",
    "SSH_TTY",
)
_ONLY_WHETHER = frozenset({"TMUX", "STY", "SSH_TTY"})
"""Variables whose values hold more than the kind of terminal."""
_RUN_FIELDS = (
    "number", "executionId", "source", "mode", "deviceId", "backend", "face", "origin", "package", "status", "code",
    "startedAt", "endedAt", "durationMs", "actionCount", "failedSteps", "timeoutMs",
)  # fmt: skip
_NEVER_IN = (
    ("texts of screens, UI trees and pictures", "what is on a device is its owner's"),
    ("payloads, results and log lines of executions", "they hold what was typed and read"),
    ("command ids, task ids and sources", "they may name a person or a project; equal sources get equal stand-ins"),
    ("what a device answered where the doctor did not expect it", "it can hold anything"),
    ("messages of exceptions", "they can quote texts of a device"),
    ("environment variables, but for the kind of terminal", "they can hold passwords"),
)


_EVIDENCE = frozenset(
    ("version", "path", "address", "serial", "devices", "sdk", "wmSize", "wmDensity", "cliVersion", "apkVersion", "receiverPackage",
     "expected", "found", "wakefulness", "targetState", "accessibilityEnabled", "value", "developer_options_enabled",
     "usb_debugging_enabled")
)  # fmt: skip
"""Keys of the doctor's evidence whose texts are versions, names and states; every other text in it is masked."""
_CODE = re.compile(r"[A-Z0-9_]{0,64}")


class MissingError(Exception):
    """There is nothing to report, for a reason that is not an error."""


@dataclass(slots=True)
class Bundle:
    """``left_out`` pairs what is missing with the reason; ``redacted`` counts replaced texts by kind."""

    files: list[BundleFile] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=lambda: list(_NEVER_IN))
    redacted: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": [
                {"name": file.name, "bytes": len(file.text.encode()), "about": file.about} for file in self.files
            ],
            "redacted": [{"what": kind, "count": count} for kind, count in sorted(self.redacted.items())],
            "leftOut": [{"what": what, "why": why} for what, why in self.left_out],
        }


async def make(engine: Engine, path: str, *, lines: int, on_part: Callable[[str], object]) -> tuple[Bundle, int]:
    """Gather a bundle and write it to ``path``; return it and its size in bytes. The policy is asked before anything else."""
    engine.guard.permit(OBSERVE, "examine this computer and its devices")
    engine.guard.permit(WRITE_FILES, f"write {path}")
    bundle = await gather(engine, lines=lines, on_part=on_part)
    return bundle, await asyncio.to_thread(write, bundle, path, engine.guard)


async def gather(engine: Engine, *, lines: int, on_part: Callable[[str], object]) -> Bundle:
    """Return the bundle of this computer and the engine's device; ``on_part`` is called with each part's name first.

    ``lines`` limits the runs of the history and the lines of the crash report. Nothing is raised for a part that fails.
    """
    bundle = Bundle()
    found: dict[str, Any] = {}
    for what, about, look in _parts(engine, lines):
        on_part(what)
        try:
            found[what] = (about, await look())
        except MissingError as exc:
            bundle.left_out.append((what, str(exc)))
        except Exception as exc:  # noqa: BLE001 -- a report about something broken must not break on it
            bundle.left_out.append((what, _failure(exc)))
    if "doctor" in found and "versions" in found:
        found["versions"][1]["adb"] = _adb(found["doctor"][1])
    redactor = _redactor(engine, found)
    bundle.files = [_file(what, about, redactor, content) for what, (about, content) in found.items()]
    bundle.left_out = [(what, redactor.text(why)) for what, why in bundle.left_out]
    bundle.redacted = dict(redactor.counts)
    bundle.files.insert(0, _contents(bundle))
    return bundle


def _failure(error: Exception) -> str:
    """Return why a part is missing. Messages of foreign exceptions are not used: they can quote anything."""
    words = error.message if isinstance(error, EngineError) else getattr(error, "strerror", None)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def write(bundle: Bundle, path: str, guard: Guard) -> int:
    """Write the ZIP to ``path``, which must not exist; return its size. Raises ``EngineError`` as ``Guard.write_file`` does."""
    data = zipped(bundle.files, "clawperator-report/")
    guard.write_file(path, data, what="The report")
    return len(data)


# -- parts


def _parts(engine: Engine, lines: int) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield the name, the description and the function of each part, the slow one last."""

    def thread(look: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        return lambda: asyncio.to_thread(look, *arguments)

    settings, sources = engine.settings, _Sources()
    yield (
        "versions",
        "this program, Python, the system, libraries, the terminal",
        thread(_versions, settings.environment),
    )
    yield "settings", "every setting with who chose it", thread(_settings, engine)
    yield (
        "locks",
        "which devices are taken, and by whom",
        thread(lambda: [_lock(lock.to_dict(), sources) for lock in engine.locks()]),
    )
    yield "crash", "where the console failed last, without messages", thread(_crash, settings.environment, lines)
    yield "runs", "the last runs: when, how long, with what outcome", thread(_runs, engine, lines, sources)
    yield "doctor", "what clawperator doctor finds", lambda: _doctor(engine)


def _versions(env: Mapping[str, str]) -> dict[str, Any]:
    def installed(name: str) -> str:
        with suppress(PackageNotFoundError):
            return version(name)
        return "not installed"

    return {
        "clawperator": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libraries": {name: installed(name) for name in _PACKAGES},
        "terminal": {
            name: "set" if name in _ONLY_WHETHER else env[name] for name in _TERMINAL_VARIABLES if env.get(name)
        },
        "encoding": sys.getfilesystemencoding(),
    }


def _settings(engine: Engine) -> dict[str, Any]:
    from clawperator.engine.config.effective import effective

    path = settings_path()
    try:
        return {"path": path, "settings": list(effective(path, {}, engine.settings.environment))}
    except EngineError as exc:
        return {"path": path, "error": exc.to_dict()}


class _Sources(dict[str, str]):
    """Pseudonyms for the sources that callers chose, the same in locks and runs."""

    def __missing__(self, source: str) -> str:
        self[source] = stand_in = f"<source-{len(self) + 1}>" if source else ""
        return stand_in


def _lock(lock: dict[str, Any], sources: _Sources) -> dict[str, Any]:
    kept = {key: value for key, value in lock.items() if key not in ("commandId", "taskId")}
    return kept | ({"source": sources[kept["source"]]} if "source" in kept else {})


def _crash(env: Mapping[str, str], lines: int) -> str:
    try:
        with open_regular(crash_path(env)) as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _CRASH_BYTES))
            text = stream.read(_CRASH_BYTES).decode(errors="replace")
    except FileNotFoundError:
        raise MissingError("the console has not failed yet") from None
    return "\n".join(without_messages(text)[-lines:] if lines else [])


def _runs(engine: Engine, lines: int, sources: _Sources) -> list[dict[str, Any]]:
    settings = engine.settings
    if not settings.history_enabled:
        raise MissingError("the history is switched off")
    if not os.path.exists(settings.history_path):
        raise MissingError("nothing was recorded yet")
    from clawperator.engine.history.store import History

    with closing(History.open(settings.history_path, create=False)) as history:
        runs = [run.to_dict() for run in history.runs(limit=lines)] if lines else []
        if history.remarks and not runs:
            raise MissingError(history.remarks[0])
    return [_run(run, sources) for run in runs]


def _run(run: Mapping[str, Any], sources: _Sources) -> dict[str, Any]:
    """``code`` can be the device's own text."""
    code = run["code"] if _CODE.fullmatch(run["code"]) else mask(run["code"])
    return {name: run[name] for name in _RUN_FIELDS} | {"source": sources[run["source"]], "code": code}


async def _doctor(engine: Engine) -> dict[str, Any]:
    from clawperator.engine.doctor.run import report

    doctor = engine.doctor()
    checks: list[Check] = []
    more = {}
    try:
        async with asyncio.timeout(DOCTOR_SECONDS):
            async for check in doctor.checks():
                checks += [check]
    except TimeoutError:
        more["unfinished"] = f"The checks took more than {DOCTOR_SECONDS:.0f} s"
    found = report(checks, device_id=doctor.device_id, package=doctor.package) | more
    return found | {"checks": [_check(check) for check in found["checks"]]}


def _check(check: dict[str, Any]) -> dict[str, Any]:
    return check | ({"evidence": _evidence(check["evidence"], "")} if check.get("evidence") else {})


def _evidence(value: Any, key: str) -> Any:
    match value:
        case str():
            return value if key in _EVIDENCE else mask(value)
        case Mapping():
            return {name: _evidence(item, name) for name, item in value.items()}
        case list() | tuple():
            return [_evidence(item, key) for item in value]
    return value


def _adb(doctor: Mapping[str, Any]) -> str:
    found = (check["summary"] for check in doctor["checks"] if check["id"] == "host.adb.presence")
    return next(found, "not looked at")


# -- redaction


def _redactor(engine: Engine, found: Mapping[str, tuple[str, Any]]) -> Redactor:
    """Return a redactor that knows this user, this host and every device that a part names."""
    serials = {engine.settings.device_id}
    for key in ("deviceId", "serial", "devices"):
        serials.update(_values(found, key))
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = ""
    env = engine.settings.environment
    return Redactor(
        home=env.get("HOME") or os.path.expanduser("~"),
        user=user,
        host=socket.gethostname(),
        serials=sorted(serials - {""}),
    )


def _values(data: Any, key: str) -> Iterator[str]:
    """Yield every text below ``key``, at any depth."""
    if isinstance(data, Mapping):
        if data.get("key") == "device_id":  # a row of the settings
            yield from _texts(data["value"])
        for name, value in data.items():
            yield from _texts(value) if name == key else _values(value, key)
    elif isinstance(data, (list, tuple)):
        for item in data:
            yield from _values(item, key)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        yield from (item for item in value if isinstance(item, str))


def _file(what: str, about: str, redactor: Redactor, content: Any) -> BundleFile:
    if isinstance(content, str):
        return BundleFile(f"{what}.txt", about, f"{redactor.text(content)}\n")
    return BundleFile(f"{what}.json", about, json.dumps(redactor.value(content), indent=2) + "\n")


def _contents(bundle: Bundle) -> BundleFile:
    """Return about.txt, which comes first."""
    lines = ["A report about clawperator, made for a bug report. Read it before you send it.", "", "In it:"]
    lines += [
        *listing(bundle.files),
        "",
        "Replaced:",
        *(f"  {kind}: {count}" for kind, count in sorted(bundle.redacted.items())),
    ]
    lines += ["", "Left out:", *(f"  {what}: {why}" for what, why in bundle.left_out)]
    return BundleFile("about.txt", "what is in this report and what is not", "\n".join(lines) + "\n")
