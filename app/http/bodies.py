"""Request bodies, checked in the documented order with a code per field (http.md#rules and http.md#executions).

A field that is ``null`` has the wrong type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from clawperator.engine.config.settings import package_name
from clawperator.engine.contracts.limits import MAX_WAIT_MS, THEN
from clawperator.engine.contracts.references import TREE_ID
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.hierarchy.views import MIN_BYTES

Body = Mapping[str, Any]
MAX_VIEW_BYTES = 2**31
_EXECUTION_HINT = "GET /schemas/execution returns the JSON Schema of an execution."
_PACKAGES = {
    "receiverPackage": ErrorCode.INVALID_RECEIVER_PACKAGE,
    "operatorPackage": ErrorCode.INVALID_OPERATOR_PACKAGE,
}


async def read_object(request: Request, *, required: bool = True) -> Body:
    """Return the body as a JSON object, ``{}`` for an absent one unless ``required``.

    A body of another content type counts as absent. Raises ``EngineError`` (INVALID_JSON, INVALID_BODY).
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    data = await request.body()
    if not data or kind != "application/json":
        if required:
            hint = f"Send it with the header Content-Type: application/json, not {kind}." if data and kind else None
            raise EngineError(ErrorCode.INVALID_BODY, "The request needs a JSON object as its body", hint=hint)
        return {}
    try:
        value = parse_json(data)
    except EngineError as exc:
        raise EngineError(ErrorCode.INVALID_JSON, "Malformed JSON body", details=exc.details) from exc
    if not isinstance(value, dict):
        raise EngineError(ErrorCode.INVALID_BODY, "The body must be a JSON object")
    return value


def execution_of(body: Body) -> Any:
    """Return the value of ``execution``, which the engine validates.

    Raises MISSING_EXECUTION for none and for ``null``, ``false``, 0 and ``""``; EXECUTION_VALIDATION_FAILED at the path ``""``
    for an object without keys.
    """
    execution = body.get("execution")
    if execution in (None, False, 0, ""):
        raise EngineError(ErrorCode.MISSING_EXECUTION, "Missing 'execution' in body")
    if execution == {}:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED, "The execution is empty", hint=_EXECUTION_HINT, details={"path": ""}
        )
    return execution


def device_of(body: Body) -> str | None:
    """Return ``deviceId``, ``None`` if it is absent or empty. Raises INVALID_DEVICE_ID."""
    return text_of(body, "deviceId", ErrorCode.INVALID_DEVICE_ID) or None


def package_of(body: Body) -> str | None:
    """Return the Operator app of ``receiverPackage`` or ``operatorPackage``.

    Raises INVALID_RECEIVER_PACKAGE or INVALID_OPERATOR_PACKAGE, by the field that is invalid.
    """
    found: dict[str, str] = {}
    for name, code in _PACKAGES.items():
        if name not in body:
            continue
        value = body[name]
        if not isinstance(value, str) or not value.strip():
            words = "must be a string" if not isinstance(value, str) else "must not be blank"
            raise EngineError(code, f"'{name}' {words}", details={"path": name})
        try:
            found[name] = package_name(value)
        except EngineError as exc:
            raise EngineError(code, f"'{name}' must be an Android package name", details={"path": name}) from exc
    if len(set(found.values())) > 1:
        words = "'receiverPackage' and 'operatorPackage' name different apps"
        raise EngineError(
            ErrorCode.INVALID_RECEIVER_PACKAGE, words, hint="Send one of them.", details={"path": "receiverPackage"}
        )
    return next(iter(found.values()), None)


def path_of(body: Body) -> str | None:
    """Return ``path`` of a screenshot. Raises INVALID_PATH."""
    path = body.get("path")
    if "path" in body and not (isinstance(path, str) and path.strip()):
        raise EngineError(ErrorCode.INVALID_PATH, "'path' must be a non-empty string", details={"path": "path"})
    return path


def timeout_of(body: Body) -> int | None:
    """Return ``timeoutMs``, a positive number of milliseconds. Raises INVALID_TIMEOUT_MS."""
    value = body.get("timeoutMs")
    if "timeoutMs" not in body:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise EngineError(
            ErrorCode.INVALID_TIMEOUT_MS, "'timeoutMs' must be a positive integer", details={"path": "timeoutMs"}
        )
    return value


def wait_of(body: Body) -> int | None:
    """Return ``waitMs``, the maximum wait for a locked device. Raises INVALID_BODY."""
    value = body.get("waitMs")
    if "waitMs" not in body:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_WAIT_MS:
        words = f"'waitMs' must be an integer in [0, {MAX_WAIT_MS}]"
        raise EngineError(ErrorCode.INVALID_BODY, words, details={"path": "waitMs"})
    return value


def view_of(body: Body) -> RunOptions:
    """Return what ``then`` and ``maxBytes`` choose. Raises INVALID_BODY, also for ``brief``, which is about the answer."""
    flag_of(body, "brief")
    then = text_of(body, "then")
    if then is not None and then not in THEN:
        words = f"'then' must be {', '.join(THEN)}"
        raise EngineError(ErrorCode.INVALID_BODY, words, details={"path": "then"})
    most = body.get("maxBytes")
    if "maxBytes" in body and (type(most) is not int or not MIN_BYTES <= most <= MAX_VIEW_BYTES):
        words = f"'maxBytes' must be an integer in [{MIN_BYTES}, {MAX_VIEW_BYTES}]"
        raise EngineError(ErrorCode.INVALID_BODY, words, details={"path": "maxBytes"})
    return RunOptions(then=then, then_bytes=most)


def tree_of(body: Body) -> str | None:
    """Return ``ifChanged``, the id of the tree that the client has. Raises INVALID_BODY."""
    tree = text_of(body, "ifChanged")
    if tree is not None and not TREE_ID.fullmatch(tree):
        words = "'ifChanged' must be the id of a tree, such as 7f3a1b2c"
        raise EngineError(ErrorCode.INVALID_BODY, words, details={"path": "ifChanged"})
    return tree


def text_of(body: Body, name: str, code: ErrorCode = ErrorCode.INVALID_BODY) -> str | None:
    """Return an optional string. Raises ``code``."""
    value = body.get(name)
    if name in body and not isinstance(value, str):
        raise EngineError(code, f"'{name}' must be a string", details={"path": name})
    return value


def flag_of(body: Body, name: str) -> bool | None:
    """Return an optional boolean. Raises INVALID_BODY."""
    value = body.get(name)
    if name in body and not isinstance(value, bool):
        raise EngineError(ErrorCode.INVALID_BODY, f"'{name}' must be true or false", details={"path": name})
    return value
