"""What an installed Operator is too old for (wire §4): it would ignore a newer parameter and be silent at a newer type."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clawperator.engine.contracts.actions import ACTIONS, FIRST_GENERATION, VALUES_SINCE
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.values import SINCE
from clawperator.engine.errors import EngineError, ErrorCode

_VERSION = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")
_FIRST = (0, 3, 0)


def require_generation(execution: Execution, apk_version: str) -> None:
    """Refuse what the installed Operator would not understand; an unreadable ``apk_version`` refuses nothing.

    Raises ``EXECUTION_ACTION_UNSUPPORTED`` with ``details.{path, actionId, actionType, requiresApk, apkVersion}``.
    """
    installed = _parsed(apk_version)
    if installed is None:
        return
    for index, action in enumerate(execution.actions):
        for path, what, since in _needs(action):
            if installed < (_parsed(since) or _FIRST):
                raise EngineError(
                    ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
                    f"{what} requires Operator {since} or newer; {apk_version} is installed",
                    hint=f"Update the Operator app to {since} or newer.",
                    details={
                        "path": f"actions.{index}.{path}",
                        "actionId": action.id,
                        "actionType": action.type,
                        "requiresApk": since,
                        "apkVersion": apk_version,
                    },
                )


def fits_every_generation(execution: Execution) -> bool:
    """Whether the oldest Operator understands all of ``execution``: then nobody needs to ask which one is installed."""
    return not any(True for action in execution.actions for _ in _needs(action))


def _needs(action: Action) -> Iterator[tuple[str, str, str]]:
    """Path below the action, words and version of everything in ``action`` that came after the first generation."""
    spec = ACTIONS.get(action.type)
    if spec is None:
        return
    if spec.since != FIRST_GENERATION:
        yield "type", action.type, spec.since
    for name, value in action.params.items():
        if name not in spec.model_fields:
            continue
        extra = spec.model_fields[name].json_schema_extra
        if isinstance(extra, dict) and SINCE in extra:
            yield f"params.{name}", f"{action.type} params.{name}", str(extra[SINCE])
        if since := VALUES_SINCE.get((action.type, name), {}).get(value if isinstance(value, str) else ""):
            yield f"params.{name}", f"{action.type} params.{name} {value!r}", since


def _parsed(version: str) -> tuple[int, int, int] | None:
    found = _VERSION.match(version.strip())
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None
