"""``exec``, ``snapshot`` and ``screenshot``: running a payload and observing, in the flat profile."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Answer, Options
from clawperator.app.cli.commands import execute, observe
from clawperator.app.cli.flat_profile import Flat
from clawperator.app.cli.payload_file import file_name, is_json_text, read_bytes, unreadable
from clawperator.engine.errors import EngineError

_PNG = b"\x89PNG\r\n\x1a\n"


class Exec(Flat, execute.Execute):
    usage = "<json|file|-> [--validate-only | --dry-run] [options]"
    notes = (
        "The payload is JSON text, a file, or '-' for stdin. Text that starts with '{' is JSON; text that starts with '[' is a file if\n"
        "one of that name exists. --payload and --execution are equivalent to the argument."
    )
    examples = ("plan.json", "plan.json --dry-run", "- --timeout 20000 < plan.json")

    def read(self, source: str | None) -> object:
        return read_plan(self.argument("<json-or-file>", source))


class Snapshot(Flat, observe.Snapshot):
    pass


class Screenshot(Flat, observe.Screenshot):
    notes = (
        f"{observe.Screenshot.notes} An existing image or an empty file is\n"
        "replaced; any other file only with --overwrite."
    )

    def run(self, options: Options) -> Answer:
        options.overwrite = options.overwrite or _is_replaceable(options.path)
        return super().run(options)


def _is_replaceable(path: str | None) -> bool:
    """Whether a file is an image or empty: skills save to the same path again, or to one that ``mktemp`` created."""
    file = os.path.expanduser(path or "")
    try:
        if not os.path.isfile(file):
            return False
        with open(file, "rb") as stream:
            return stream.read(len(_PNG)) in (b"", _PNG)
    except OSError:
        return False


def read_plan(source: str) -> object:
    """Return the parsed JSON of the argument of ``exec`` (cli.md#commands).

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where it cannot be read or is not JSON.
    """
    from clawperator.engine.executions.validate import parse_json

    source = source.strip()
    inline = is_json_text(source) or (source.startswith("[") and not os.path.isfile(source))
    try:
        return parse_json(source if inline else read_bytes(source))
    except EngineError as exc:
        where = "" if inline else f" in execution file: {file_name(source)}: {exc.details['reason']}"
        raise EngineError(exc.code, f"Invalid JSON content{where}", hint=exc.hint, details=exc.details) from exc
    except (OSError, ValueError) as exc:
        raise unreadable("Failed to read execution file", source, exc, "JSON text") from exc
