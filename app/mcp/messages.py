"""What clients send, before the SDK reads it: JSON with one meaning, as on the other faces, and JSON-RPC."""

from __future__ import annotations

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData
from mcp_types.jsonrpc import JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter
from pydantic import ValidationError

from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError

_LONGEST_NUMBER = 20


def refusal(data: bytes) -> JSONRPCError | None:
    """Return the answer to ``data`` if it is no message. The SDK gives none over stdio, so that a client would wait for ever."""
    try:
        value = parse_json(data)
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except EngineError as exc:
        code, words = PARSE_ERROR, exc.message
    except ValidationError as exc:
        code, words = INVALID_REQUEST, "Not a request, notification or response of JSON-RPC 2.0"
        first = exc.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":  # an unpaired surrogate
            code, words = PARSE_ERROR, first["msg"]
    else:
        if not isinstance(message, JSONRPCNotification) or not isinstance(value, dict) or "id" not in value:
            return None
        code, words = INVALID_REQUEST, "'id' must be a string or an integer"
    return JSONRPCError(jsonrpc="2.0", id=_id(data), error=ErrorData(code=code, message=words))


def _id(data: bytes) -> str | int | None:
    """Return the id of a message that may be refused; ``None`` if it cannot be determined."""
    try:
        text = data.decode("utf-8-sig", "replace")
        value = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < _LONGEST_NUMBER else 0)
    except (ValueError, RecursionError):
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return found if type(found) is int or (isinstance(found, str) and found.isascii()) else None
