"""Saved UI trees, from a file or stdin."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clawperator.engine.contracts.limits import RENDERED_FORMATS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.stdin import read_stdin
from clawperator.engine.follow import other_tools
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.engine.hierarchy.source import DumpSource
from clawperator.engine.hierarchy.tree import MAX_BYTES, parse

STDIN = "-"
_WANTED = "Give a file with a UI tree: what `clawperator snapshot`, `uiautomator dump`, Appium's page source or `maestro hierarchy` prints."


@dataclass(frozen=True, slots=True)
class SavedDump:
    """The content of a file: a ``tree``, or the ``problem`` if there is none."""

    path: str
    """As given; ``-`` is stdin."""
    xml: str
    """The decoded text; empty if the file cannot be read or is too large."""
    tree: UiTree | None
    """A damaged document has the tree up to the damage, and ``recovered`` set."""
    problem: EngineError | None
    """EXECUTION_VALIDATION_FAILED, HIERARCHY_MALFORMED or HIERARCHY_TOO_LARGE; ``details.file`` names the file."""

    def readable(self) -> UiTree:
        """Return the tree, or raise the problem."""
        if self.tree is None:
            assert self.problem is not None
            raise self.problem
        return self.tree


def read_dump(path: str) -> SavedDump:
    """Read a UI tree from a file, or from stdin for ``-``. Never raises: errors are part of the result.

    Of the saved result of an execution (``observe snapshot > file``), the last snapshot is used.
    """
    xml = ""
    try:
        dump, note = _unwrapped(_read(path))
        if len(dump) <= MAX_BYTES:
            xml = DumpSource(dump).data.decode(errors="replace")
        tree = parse(dump, recover=True)
        tree.recovered = "; ".join(filter(None, (note, tree.recovered)))
        return SavedDump(path, xml, tree, None)
    except EngineError as problem:
        if problem.code is ErrorCode.HIERARCHY_MALFORMED:
            problem.hint = _WANTED
        problem.details["file"] = path
        return SavedDump(path, xml, None, problem)


def _read(path: str) -> bytes:
    """Read at most one byte more than the parser accepts. Raises ``EngineError`` as for an unreadable payload."""
    try:
        if path == STDIN:
            return read_stdin(MAX_BYTES + 1)
        with open(path, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path, closed stdin
        reason = getattr(exc, "strerror", None) or exc
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"Failed to read the saved UI tree {'on stdin' if path == STDIN else path}: {reason}",
            hint="Give a file that holds a UI tree, or - for stdin.",
        ) from exc


def _unwrapped(data: bytes) -> tuple[bytes | str, str]:
    """Return the document in ``data``, and a note where that is another tool's: of a result, the last snapshot (cli.md#commands)."""
    if len(data) > MAX_BYTES or (text := DumpSource(data).data).lstrip().startswith(b"<"):
        return data, ""
    if text.lstrip().startswith(b"{") and (snapshot := _of_result(text)) is not None:
        return snapshot, ""
    return other_tools.document(text.decode(errors="replace")) or (data, "")


def _of_result(data: bytes) -> str | None:
    try:
        steps = json.loads(data)["envelope"]["stepResults"]
        found = [step["data"] for step in steps if step["actionType"] == "snapshot_ui"]
        texts = [one.get("text") for one in found if one.get("actual_format") not in RENDERED_FORMATS]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return next((text for text in reversed(texts) if isinstance(text, str)), None)
