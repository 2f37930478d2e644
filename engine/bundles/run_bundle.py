"""One run as a ZIP archive: payload, envelope, live lines, UI trees and versions, each as a file.

No text of a device or a caller becomes a file name.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from clawperator.engine.bundles.archive import BundleFile, listing, zipped
from clawperator.engine.guard import Guard
from clawperator.engine.history.masking import without_texts
from clawperator.engine.text.invisible import spell, visible
from clawperator.engine.version import __version__

WHOLE = "Nothing in it is masked: it holds what was read from screens and typed into them."
SAFE = "Texts of screens are masked, UI trees and the words of log lines are left out."
"""What each kind of bundle holds, for messages and its README."""


class Written(NamedTuple):
    """The number of files in a bundle, and its size."""

    files: int
    bytes: int


def write(path: str, run: Mapping[str, Any], *, guard: Guard, safe: bool = False) -> Written:
    """Write the ZIP of ``run`` (one of ``History.export``, with the texts of its trees) to ``path``, mode 0600.

    ``safe``: as ``history export --safe``. Raises ``EngineError`` as ``Guard.write_file`` does; nothing is replaced.
    """
    kept = files(run, safe=safe)
    data = zipped(kept)
    guard.write_file(path, data, what="The bundle")
    return Written(len(kept), len(data))


def files(run: Mapping[str, Any], *, safe: bool = False) -> list[BundleFile]:
    """Return the files of the bundle, README.txt first. What the history does not hold of the run has no file."""
    shown = without_texts(run) if safe else dict(run)
    trees = list(shown["trees"])
    texts = {} if safe else {tree["digest"]: tree["text"] for tree in trees if "text" in tree}
    names = {digest: f"trees/{number:03}.xml" for number, digest in enumerate(texts, 1)}
    rest = {key: value for key, value in shown.items() if key not in ("payload", "envelope", "lines", "trees")}
    rest["trees"] = [_named(tree, names) for tree in trees]
    found = [
        BundleFile("run.json", "when it ran, how it ended, its steps, which tree was read when", _json(rest)),
        *_if_kept("payload.json", "what was asked for, normalised", shown["payload"]),
        *_if_kept(
            "envelope.json", "what the caller got; a tree is named by its digest (see run.json)", shown["envelope"]
        ),
        BundleFile("lines.txt", "the live lines: UTC, kind, text", "".join(map(_line, shown["lines"]))),
        *(BundleFile(names[digest], "a UI tree, as it was read", text) for digest, text in texts.items()),
        BundleFile("versions.json", "what wrote this bundle", _json(_versions())),
    ]
    return [BundleFile("README.txt", "what is in this bundle", _readme(found, safe=safe)), *found]


def _named(tree: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return ``tree`` with the name of its file instead of its text."""
    return {key: value for key, value in tree.items() if key != "text"} | {"file": names.get(tree["digest"])}


def _if_kept(name: str, about: str, value: Any) -> Iterator[BundleFile]:
    if value is not None:
        yield BundleFile(name, about, _json(value))


def _json(value: Any) -> str:
    """Return indented JSON; a lone surrogate, which UTF-8 cannot hold, stays an escape."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.encode(errors="backslashreplace").decode() + "\n"


def _line(line: Mapping[str, Any]) -> str:
    """Return one row of lines.txt, without control characters and line feeds of the device."""
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


def _readme(found: Sequence[BundleFile], *, safe: bool) -> str:
    """Return README.txt. It repeats no id of the run: those are in run.json, masked or not."""
    lines = ["One run from the history of clawperator.", SAFE if safe else WHOLE, "", "In it:"]
    return "\n".join([*lines, *listing(found)]) + "\n"
