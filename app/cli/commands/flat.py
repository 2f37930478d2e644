"""``exec``, ``snapshot`` and ``screenshot``: the flat surface's names for running a payload and for looking."""

from __future__ import annotations

import os

from clawperator.app.cli.commands import execute, observe
from clawperator.app.cli.parsing.flat_words import Flat
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.output import Answer

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

    def run(self, options: Namespace) -> Answer:
        options.overwrite = options.overwrite or _is_replaceable(options.path)
        return super().run(options)


def _is_replaceable(path: str | None) -> bool:
    """Skills take their pictures to the same place again, or to one that ``mktemp`` made; nothing else may be lost."""
    file = os.path.expanduser(path or "")
    try:
        if not os.path.isfile(file):
            return False
        with open(file, "rb") as stream:
            return stream.read(len(_PNG)) in (b"", _PNG)
    except OSError:
        return False


def read_plan(source: str) -> object:
    """The parsed JSON of the argument of ``exec`` (cli.md#commands).

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where it cannot be read or is not JSON.
    """
    from clawperator.engine.executions.validate import parse_json

    source = source.strip()
    inline = execute.is_json_text(source) or (source.startswith("[") and not os.path.isfile(source))
    name = execute.file_name(source)
    try:
        text = source if inline else execute.read_bytes(source)
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"Failed to read execution file: {name}: {reason}",
            hint="Pass a file, JSON text, or - for stdin.",
        ) from exc
    try:
        return parse_json(text)
    except EngineError as exc:
        message = "Invalid JSON content"
        message += "" if inline else f" in execution file: {name}: {exc.details['reason']}"
        raise EngineError(exc.code, message, hint=exc.hint, details=exc.details) from exc
