"""Effects of a tap, a long press or Enter: functions of what they may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class EffectTarget(Protocol):
    """What an effect may change: the state of the app in front, and the screens."""

    @property
    def state(self) -> dict[str, Any]: ...
    def push(self, screen: str, arg: str = "") -> None: ...
    def replace(self, screen: str, arg: str = "") -> None: ...
    def back(self) -> None: ...
    def launch(self, package: str) -> bool: ...
    def put_setting(self, namespace: str, key: str, value: str) -> None: ...
    def setting(self, namespace: str, key: str) -> str: ...


Effect = Callable[[EffectTarget], object]


def go(screen: str, arg: str = "", *, instead: bool = False) -> Effect:
    """Open a screen of the same app; with ``instead``, replace this one."""
    return lambda actor: (actor.replace if instead else actor.push)(screen, arg)


def go_back(actor: EffectTarget) -> None:
    actor.back()


def put(key: str, value: Any) -> Effect:
    return lambda actor: actor.state.update({key: value})


def flip(key: str) -> Effect:
    return lambda actor: actor.state.update({key: not actor.state.get(key)})


def nudge(key: str, by: float, low: float, high: float) -> Effect:
    """Add ``by`` within ``low`` and ``high``."""
    return lambda actor: actor.state.update({key: min(max(actor.state[key] + by, low), high)})


def flip_setting(namespace: str, key: str) -> Effect:
    """Toggle a device setting between 0 and 1."""
    return lambda actor: actor.put_setting(namespace, key, "0" if actor.setting(namespace, key) == "1" else "1")


def launch(package: str) -> Effect:
    return lambda actor: actor.launch(package)


def do_nothing(_: EffectTarget) -> None:
    """Clickable, but without effect."""
