"""One run as a ZIP that can be handed on: payload, envelope, live lines, UI trees and versions, each as a file.

The names in it are ours: nothing that a device or a caller gave becomes a file name.
"""

from __future__ import annotations

import io
import json
import platform
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from clawperator.engine.guard import Guard
from clawperator.engine.history.safe import without_texts
from clawperator.engine.named_files import write_named_file
from clawperator.engine.text.invisible import spell, visible
from clawperator.engine.version import __version__

WHOLE = "Nothing in it is masked: it holds what was read from screens and typed into them."
SAFE = "Texts of screens are masked, UI trees and the words of log lines are left out."
"""What each kind of bundle holds, in words for whoever makes one and whoever opens it."""


class File(NamedTuple):
    """One file of the bundle; ``about`` says what it is."""

    name: str
    about: str
    text: str


class Written(NamedTuple):
    """How many files the bundle holds, and how many bytes it has."""

    files: int
    bytes: int


def write(path: str, run: Mapping[str, Any], *, guard: Guard, safe: bool = False) -> Written:
    """Make the ZIP of ``run`` (one of ``History.export``, with the texts of its trees) at ``path``, mode 0600.

    ``safe``: as ``history export --safe``. Raises ``EngineError`` as ``write_named_file`` does; a file, link or folder
    that is there stays, and nothing is left behind.
    """
    kept = files(run, safe=safe)
    data = _zipped(kept)
    write_named_file(guard, path, data, what="The bundle")
    return Written(len(kept), len(data))


def files(run: Mapping[str, Any], *, safe: bool = False) -> list[File]:
    """What goes in. What the history does not hold of the run has no file; README.txt comes first and names the others."""
    shown = without_texts(run) if safe else dict(run)
    trees = list(shown["trees"])
    texts = {} if safe else {tree["digest"]: tree["text"] for tree in trees if "text" in tree}
    names = {digest: f"trees/{number:03}.xml" for number, digest in enumerate(texts, 1)}
    rest = {key: value for key, value in shown.items() if key not in ("payload", "envelope", "lines", "trees")}
    rest["trees"] = [_named(tree, names) for tree in trees]
    found = [
        File("run.json", "when it ran, how it ended, its steps, which tree was read when", _json(rest)),
        *_if_kept("payload.json", "what was asked for, normalised", shown["payload"]),
        *_if_kept(
            "envelope.json", "what the caller got; a tree is named by its digest (see run.json)", shown["envelope"]
        ),
        File("lines.txt", "the live lines: UTC, kind, text", "".join(map(_line, shown["lines"]))),
        *(File(names[digest], "a UI tree, as it was read", text) for digest, text in texts.items()),
        File("versions.json", "what wrote this bundle", _json(_versions())),
    ]
    return [File("README.txt", "what is in this bundle", _readme(found, safe=safe)), *found]


def _named(tree: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Where a tree stands in the bundle, instead of its text."""
    told = {key: value for key, value in tree.items() if key != "text"}
    return told | {"file": names.get(tree["digest"])}


def _if_kept(name: str, about: str, value: Any) -> Iterator[File]:
    if value is not None:
        yield File(name, about, _json(value))


def _json(value: Any) -> str:
    """Indented; a lone surrogate, which UTF-8 has not, stays an escape."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.encode(errors="backslashreplace").decode() + "\n"


def _line(line: Mapping[str, Any]) -> str:
    """One row of lines.txt, in which nothing can steer a terminal or begin a row of its own."""
    words = line["text"] or " ".join(f"{name}={value}" for name, value in line["fields"].items())
    return f"{_utc(line['at'])}  {_plain(line['kind']):<14}  {_plain(words)}".rstrip() + "\n"


def _utc(at: float | None) -> str:
    try:
        moment = datetime.fromtimestamp(at or 0.0, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{at}"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if at is not None else "unknown"


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else spell(each) for each in visible(text))


def _versions() -> dict[str, str]:
    return {
        "clawperator": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def _readme(found: Sequence[File], *, safe: bool) -> str:
    """What a reader sees first. Ids of the run stand in run.json, masked or not; none is repeated here."""
    lines = ["One run from the history of clawperator.", SAFE if safe else WHOLE, "", "In it:"]
    lines += [f"  {file.name:<16}{file.about}" for file in found]
    return "\n".join(lines) + "\n"


# -- the file


def _zipped(kept: Sequence[File]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in kept:
            entry = zipfile.ZipInfo(file.name, time.localtime()[:6])
            entry.external_attr = 0o100600 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.text.encode(errors="backslashreplace"))
    return buffer.getvalue()
