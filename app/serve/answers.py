"""HTTP answers: ``{"ok": true, …}`` with 200, or the error object with the status of its code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawperator.app.hints import MATCH_COMMAND, commands, worded
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.invisible import reveal

if TYPE_CHECKING:
    from starlette.responses import Response

JSON = "application/json"
_ROUTE_WORDS = {
    MATCH_COMMAND: "POST /match with `selector` as in details.selector and `explain`: true.",
    "match and inspect ui --view interactive show": "POST /match and GET /devices/{device_id}/snapshot?view=interactive show",
    "inspect ui --view interactive": "GET /devices/{device_id}/snapshot?view=interactive",
    "`clawperator schema execution` prints": "GET /schemas/execution returns",
    "Run `clawperator help input`.": "The description of runVerb in /openapi.json lists the arguments.",
    "Run doctor (": "Call GET /doctor (",
    **commands(
        {
            "apps": "GET /devices/{device_id}/apps",
            "devices": "GET /devices",
            "device info": "POST /verbs/device_info",
            "doctor": "GET /doctor",
            "emulator list": "GET /android/emulators",
            "emulator provision": "POST /android/provision/emulator",
            "emulator status": "GET /android/emulators/running",
            "history list": "GET /history",
            "packages list": "GET /devices/{device_id}/packages",
            "skills get": "GET /skills/{skill_id}",
            "skills get <id>": "GET /skills/{skill_id}",
            "skills list": "GET /skills",
            "skills search": "GET /skills",
            "suggest": "POST /suggest",
            "suggest --ref <ref>": "POST /suggest",
        }
    ),
    ", pass --registry <file>, or use --registry builtin for the built-in skills": " on the server, or set CLAWPERATOR_SKILLS_REGISTRY for it",
    ", or run one of its artifacts with --artifact": "",
    ", or pass --overwrite to replace the file": "",
    "--allow-unbind": "`allowUnbind`: true",
    "--backend stock": "`backend`: stock",
    "--compressed": "`compressed`: true",
    "--device-id": "`deviceId`",
    "--devices": "`devices`",
    "--operator-package": "`operatorPackage`",
    "--receiver-package": "`receiverPackage`",
    "--text": "`text`",
    "--wait": "`waitMs`",
}
"""Words of command-line hints, and their equivalents for HTTP clients."""
_REFUSALS = {ErrorCode.NODE_NOT_FOUND: 404, ErrorCode.TEXT_NOT_DELIVERED: 400}
"""Codes of envelopes that also refuse a request, and their status there."""
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
    from starlette.responses import Response  # the host of a fleet uses ``encode``, and needs no such package

    return Response(encode(document), status, headers, JSON)


def ok(**fields: Any) -> Response:
    """Return ``{"ok": true}`` with ``fields``."""
    return answer({"ok": True, **fields})


def status_of(code: ErrorCode) -> int:
    """Return the HTTP status of an error; codes of envelopes, which have none, become 500 unless the request was wrong."""
    return code.http if code.http >= 400 else _REFUSALS.get(code, 500)


def failure(error: EngineError, headers: Mapping[str, str] | None = None) -> Response:
    return answer(in_route_words(error.to_answer()), status_of(error.code), {**retry_after(error), **(headers or {})})


def in_route_words(document: Mapping[str, Any]) -> dict[str, Any]:
    """Replace commands and flags in the hints of an error or a result by routes and fields, and say whether an execution succeeded.

    ``ok`` says that an envelope came back, also a failed one.
    """
    answer = worded(document, _ROUTE_WORDS)
    if answer.get("ok") and "outcome" in answer:
        answer["succeeded"] = answer["outcome"]["status"] == "succeeded"
    return answer


def retry_after(error: EngineError) -> dict[str, str]:
    """Return the ``Retry-After`` header in whole seconds, if a retry can succeed."""
    left = error.details.get("retryAfterMs", 1_000 if error.code in _SOON else None)
    return {"Retry-After": str(-(-left // 1000))} if isinstance(left, int) else {}
