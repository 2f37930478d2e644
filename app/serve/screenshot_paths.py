"""Confine the screenshot paths of requests to one folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawperator.engine.config.policy import WRITE_FILES
from clawperator.engine.contracts.aliases import canonical
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.files.regular import private_folder

if TYPE_CHECKING:
    from clawperator.engine.guard import Guard


def confined(path: str, folder: str, name: str = "path") -> str:
    """Return ``path`` below ``folder`` with links resolved; a relative path starts there.

    Raises ``EngineError`` (INVALID_PATH) for a path that leads elsewhere; ``name`` is what the request calls it.
    """
    root = os.path.realpath(folder)
    try:
        place = os.path.realpath(os.path.join(root, path))
    except ValueError as exc:  # a NUL
        raise _refused(name, root) from exc
    if os.path.commonpath((root, place)) != root or place == root:
        raise _refused(name, root)
    return place


def _refused(name: str, root: str) -> EngineError:
    return EngineError(
        ErrorCode.INVALID_PATH,
        f"'{name}' must lead to a file below the server's folder for screenshots",
        hint="Give a relative path, or start it with --screenshots-dir.",
        details={"path": name, "folder": root},
    )


def make_picture_folder(guard: Guard, folder: str) -> None:
    """Create ``folder``, unless the policy forbids writing: then the execution is refused later.

    Raises ``EngineError``: those of ``not_writable``.
    """
    if not guard.allows(WRITE_FILES):
        return
    try:
        private_folder(folder)
    except OSError as exc:
        raise not_writable(folder, exc) from exc


def with_confined_screenshots(guard: Guard, payload: Any, folder: str) -> Any:
    """Return ``payload`` with the path of every ``take_screenshot`` confined; an invalid payload is returned unchanged.

    ``folder`` is created if there is a path. Raises ``EngineError``: INVALID_PATH, and those of ``not_writable``.
    """
    actions = payload.get("actions") if isinstance(payload, Mapping) else None
    if not isinstance(actions, list):
        return payload
    return {**payload, "actions": [_confine(guard, action, index, folder) for index, action in enumerate(actions)]}


def _confine(guard: Guard, action: Any, index: int, folder: str) -> Any:
    if not isinstance(action, Mapping):
        return action
    kind, params = action.get("type"), action.get("params")
    if not isinstance(kind, str) or canonical(kind) != "take_screenshot" or not isinstance(params, Mapping):
        return action
    path = params.get("path")
    if not isinstance(path, str) or not path:
        return action
    make_picture_folder(guard, folder)
    return {**action, "params": {**params, "path": confined(path, folder, f"actions.{index}.params.path")}}
