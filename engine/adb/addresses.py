"""Validate network addresses typed by users."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address

from clawperator.engine.adb.mdns import Endpoint, is_ipv6
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.numbers import whole_number

DEFAULT_DEVICE_PORT = 5555
"""What ``adb connect`` uses for an address without a port."""
MAX_ADDRESS = 270
"""Characters: the longest host name (253), brackets, a zone and a port."""

_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_BRACKETED = re.compile(r"\[([^\[\]]*)\](?::(.*))?")


def parse_endpoint(text: str, field: str = "address", *, default_port: int | None = None) -> Endpoint:
    """``host[:port]`` with a host name, an IPv4 address or an IPv6 address in brackets.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED, ``details.path`` = ``field``) for everything else, and for an
    address without a port where ``default_port`` is ``None``.
    """
    given = text.strip()
    if not given:
        raise _refused(field, "must not be empty")
    if len(given) > MAX_ADDRESS:
        raise _refused(field, f"is longer than {MAX_ADDRESS} characters")
    host, port = _split(given, field)
    _check_host(host, field)
    if port is None:
        if default_port is None:
            raise _refused(field, f"has no port: write {given}:<port>, as the device shows it")
        return Endpoint(host, default_port)
    return Endpoint(host, _number(port, field))


def _split(given: str, field: str) -> tuple[str, str | None]:
    if given.startswith("["):
        match = _BRACKETED.fullmatch(given)
        if not match:
            raise _refused(field, "has brackets that do not fit: write [IPv6]:port")
        if not is_ipv6(match[1]):
            raise _refused(field, "has no valid IPv6 address in its brackets")
        return match[1], match[2]
    if given.count(":") > 1:
        raise _refused(field, f"is ambiguous: write an IPv6 address in brackets, [{_shown(given)}]:<port>")
    host, colon, port = given.partition(":")
    return host, port if colon else None


def _number(port: str, field: str) -> int:
    value = whole_number(port, digits=5) or 0
    if not 0 < value < 65536:
        raise _refused(field, "has no port from 1 to 65535 after the colon")
    return value


def _check_host(host: str, field: str) -> None:
    if ":" in host:
        return
    if host.replace(".", "").isdigit():
        try:
            IPv4Address(host)
        except AddressValueError:
            raise _refused(field, "has no valid IPv4 address") from None
        return
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.removesuffix(".").split(".")):
        raise _refused(field, "has no valid host name: letters, digits, '-', '_' and dots")


def _shown(text: str) -> str:
    """The caller's text, made safe for a message."""
    return "".join(character if character.isprintable() else "?" for character in text)[:60]


def _refused(field: str, reason: str) -> EngineError:
    return EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        f"{field} {reason}",
        hint="An address looks like 192.168.1.86:37313, [fe80::1]:37313 or phone.local:5555.",
        details={"path": field},
    )
