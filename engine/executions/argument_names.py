"""Errors about a payload that a face made of arguments, in terms of the arguments."""

from __future__ import annotations

import re

from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Names = Callable[[str, str], tuple[str, str]]

_ABOUT_VALUES = (ErrorCode.EXECUTION_VALIDATION_FAILED, ErrorCode.TEXT_NOT_DELIVERED)
"""Codes whose messages name the argument."""
_IN_ACTION = re.compile(r"actions\.\d+\.params(?:\.([\w.]+))?")


def in_arguments(error: EngineError, names: Names, verb: str, *, hint: str, path: str = "") -> EngineError:
    """Return ``error`` about the argument that made the value at ``details.path``, if there is one.

    ``names`` returns the argument of a parameter, or '', and the rest of the path inside of it; ``path`` is that of an error without
    one. ``verb`` replaces the type of the action, ``hint`` one that refers to the payload.
    """
    path = str(error.details.get("path", "")) or path
    terms = _Terms(names, verb, str(error.details.get("actionType", "")))
    name, rest = terms.of(path)
    if not name:
        return error
    details = {**error.details, "path": _joined(name, rest)}
    if "issues" in details:
        details["issues"] = [terms.issue(issue) for issue in details["issues"]]
        details["reason"] = "; ".join(dict.fromkeys(issue["message"] for issue in details["issues"]))
    elif "reason" in details:
        details["reason"] = terms.replaced(str(details["reason"]), path, name)
    about_payload = error.hint.startswith("Correct the value at details.path")
    message = terms.replaced(error.message, path, name)
    if error.code in _ABOUT_VALUES and not (name in message or "--" in message or message.startswith(f"{verb} ")):
        message = f"{name}: {message}"
    return EngineError(
        error.code, message, hint=hint if about_payload else error.hint, details=details, extra=error.extra
    )


def _joined(name: str, rest: str) -> str:
    return f"{name}.{rest}" if rest else name


class _Terms:
    """The messages of one action in the words of a face."""

    def __init__(self, names: Names, verb: str, action: str) -> None:
        self._names, self._verb, self._action = names, verb, action

    def of(self, path: str) -> tuple[str, str]:
        found = _IN_ACTION.fullmatch(path)
        parameter, _, rest = ((found[1] or "") if found else path).partition(".")
        return self._names(parameter, rest) if parameter else ("", "")

    def issue(self, issue: dict[str, Any]) -> dict[str, Any]:
        name, rest = self.of(issue["path"])
        if not name:
            return issue
        return {"path": _joined(name, rest), "message": self.replaced(issue["message"], issue["path"], name)}

    def replaced(self, message: str, path: str, name: str) -> str:
        """Return ``message`` about ``path`` with ``name`` in place of payload names."""
        kind = f"(?:{re.escape(self._action)} )?" if self._action else ""
        text = re.sub(rf"`([\w.]+)`|{kind}\bparams\.(\w+)\b", self._named, message)
        if self._action:
            text = re.sub(rf"(?<![\w-]){re.escape(self._action)}(?![\w-])", lambda _: self._verb, text)
        return re.sub(rf"^{re.escape(path)}\b", lambda _: name, text)

    def _named(self, found: re.Match[str]) -> str:
        name, rest = self.of(found[1] or found[2])
        return (f"{name}: `{rest}`" if rest else name) or found[0]
