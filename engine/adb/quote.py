"""Build command lines for the device's shell; no other module may.

The device runs everything through ``sh -c``, so a package name, path, key or text of a payload is shell code unless it is
quoted. :func:`device_command` quotes an argument vector; :func:`device_script` fills quoted values into one of our own
fixed scripts (several commands, redirections).
"""

from __future__ import annotations

import re

from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ARGUMENT_BYTES = 131_071
"""Linux refuses to start a program with a longer argument (32 pages less the closing NUL), whatever the total allows."""

_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-]+", re.ASCII)
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*)\}")


def quote(argument: str) -> str:
    """One shell word that the device's ``sh`` reads back as exactly ``argument`` (wire.md#broadcast).

    Words of harmless characters stay unquoted so that commands remain readable in logs. Raises ``EngineError``
    EXECUTION_VALIDATION_FAILED for NUL and lone surrogates, PAYLOAD_TOO_LARGE beyond :data:`MAX_ARGUMENT_BYTES`.
    """
    if _PLAIN.fullmatch(argument) and len(argument) <= MAX_ARGUMENT_BYTES:
        return argument
    _refuse_impossible(argument)
    return "'" + argument.replace("'", "'\"'\"'") + "'"


def device_command(argv: Sequence[str]) -> str:
    """The shell text that runs ``argv`` on the device, each argument arriving there unchanged."""
    if not argv:
        raise ValueError("an empty command has nothing to run")
    return " ".join(map(quote, argv))


def device_script(template: str, /, **values: str | Sequence[str]) -> str:
    """Fill the ``{name}`` placeholders of a fixed shell text with quoted values; a sequence becomes several words.

    ``${NAME}`` and lone braces are left to the shell. Raises ``ValueError`` for a placeholder without a value and for a value
    without a placeholder.
    """
    used: set[str] = set()

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values:
            raise ValueError(f"the script has a place {{{name}}} but no value for it")
        used.add(name)
        value = values[name]
        return quote(value) if isinstance(value, str) else " ".join(map(quote, value))

    script = _PLACEHOLDER.sub(fill, template)
    if unused := values.keys() - used:
        raise ValueError(f"the script has no place for {', '.join(sorted(unused))}")
    return script


def _refuse_impossible(argument: str) -> None:
    if "\0" in argument:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED, "a command argument for the device contains a NUL character"
        )
    try:
        size = len(argument.encode())
    except UnicodeEncodeError as exc:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED, "a command argument for the device contains a lone surrogate"
        ) from exc
    if size > MAX_ARGUMENT_BYTES:
        raise EngineError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"a command argument of {size} bytes exceeds the device's limit of {MAX_ARGUMENT_BYTES}",
            details={"bytes": size, "limit": MAX_ARGUMENT_BYTES},
        )
