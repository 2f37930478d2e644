"""HTTP answers: ``{"ok": true, …}`` with 200, or the error object with the status of its code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from clawperator.app.hints import MATCH_COMMAND, worded
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.invisible import reveal

JSON = "application/json"
_ROUTE_WORDS = {
    MATCH_COMMAND: "POST /match with `selector` as in details.selector and `explain`: true.",
    "--device-id": "`deviceId`",
}
"""Words of command-line hints, and their equivalents for HTTP clients."""
_SOON = frozenset({ErrorCode.RATE_LIMITED, ErrorCode.SERVER_BUSY})
"""Errors that are worth a retry after one second, unless their details say more."""
RETRY_AFTER = _SOON | {ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT}
"""The codes of answers that may carry ``Retry-After``."""


def encode(document: object) -> bytes:
    """Return compact JSON as UTF-8; hidden characters, and lone surrogates, which UTF-8 has not, as JSON's own escapes."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    if text.isascii() and "\x7f" not in text:
        return text.encode()
    return reveal(text, lambda character: json.dumps(character)[1:-1]).encode()


def answer(document: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(document), status, headers, JSON)


def ok(**fields: Any) -> Response:
    """Return ``{"ok": true}`` with ``fields``."""
    return answer({"ok": True, **fields})


def status_of(code: ErrorCode) -> int:
    """Return the HTTP status of an error; codes that occur only in envelopes have none and become 500."""
    return code.http if code.http >= 400 else 500


def failure(error: EngineError, headers: Mapping[str, str] | None = None) -> Response:
    return answer(in_route_words(error.to_answer()), status_of(error.code), {**retry_after(error), **(headers or {})})


def in_route_words(document: Mapping[str, Any]) -> dict[str, Any]:
    """Replace commands and flags in the hints of an error or a result by routes and fields."""
    return worded(document, _ROUTE_WORDS)


def retry_after(error: EngineError) -> dict[str, str]:
    """Return the ``Retry-After`` header in whole seconds, if a retry can succeed."""
    left = error.details.get("retryAfterMs", 1_000 if error.code in _SOON else None)
    return {"Retry-After": str(-(-left // 1000))} if isinstance(left, int) else {}
