"""What opens a target: a URI, an application id, or the name of an app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clawperator.engine.executions import build

if TYPE_CHECKING:
    from clawperator.engine.executions.composition import Composition

MAX_APP_NAME = 255


def open_target(target: str, **how: Any) -> dict[str, Any] | Composition:
    """Return ``open_uri`` for a ``scheme://``, else ``open_app_or_name``, which ``how`` is for."""
    return build.open_uri(target) if is_uri(target) else open_app_or_name(target, **how)


def open_app_or_name(target: str, **how: Any) -> dict[str, Any] | Composition:
    """Return ``open_app`` for an application id, else what looks up the app that is called ``target``; ``how`` is that of ``open_app``."""
    if not is_app_name(target):
        return build.open_app(target, **how)
    from clawperator.engine.executions.verbs import open_called

    return open_called(target.strip(), build.open_app("a.b", **how))


def is_app_name(target: str) -> bool:
    """Return whether ``target`` is neither an application id nor a URI, but may be the name of an app.

    A single word with a dot is an id, right or wrong, and ``android`` is one; a name has none, or has several words.
    """
    words = target.split()
    one = len(words) == 1 and ("." in words[0] or ":" in words[0] or words[0] == "android")
    return bool(words) and not one and len(target) <= MAX_APP_NAME


def is_uri(target: str) -> bool:
    """Return whether ``target`` begins with ``scheme://``."""
    scheme, mark, _ = target.strip().partition("://")
    plain = scheme.translate({ord(sign): "a" for sign in "+.-"})
    return bool(mark) and plain.isascii() and plain.isalnum()
