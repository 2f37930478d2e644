"""Effects of a tap, a long press or Enter, as values."""

from __future__ import annotations

from dataclasses import dataclass
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


class Effect(Protocol):
    def apply(self, actor: EffectTarget) -> None: ...


@dataclass(frozen=True, slots=True)
class Go:
    """Open a screen of the same app; with ``instead``, replace this one."""

    screen: str
    arg: str = ""
    instead: bool = False

    def apply(self, actor: EffectTarget) -> None:
        (actor.replace if self.instead else actor.push)(self.screen, self.arg)


@dataclass(frozen=True, slots=True)
class GoBack:
    def apply(self, actor: EffectTarget) -> None:
        actor.back()


@dataclass(frozen=True, slots=True)
class Put:
    key: str
    value: Any

    def apply(self, actor: EffectTarget) -> None:
        actor.state[self.key] = self.value


@dataclass(frozen=True, slots=True)
class Flip:
    key: str

    def apply(self, actor: EffectTarget) -> None:
        actor.state[self.key] = not actor.state.get(self.key)


@dataclass(frozen=True, slots=True)
class Nudge:
    """Add ``by`` within ``low`` and ``high``."""

    key: str
    by: float
    low: float
    high: float

    def apply(self, actor: EffectTarget) -> None:
        actor.state[self.key] = min(max(actor.state[self.key] + self.by, self.low), self.high)


@dataclass(frozen=True, slots=True)
class FlipSetting:
    """Toggle a device setting between 0 and 1."""

    namespace: str
    key: str

    def apply(self, actor: EffectTarget) -> None:
        on = actor.setting(self.namespace, self.key) == "1"
        actor.put_setting(self.namespace, self.key, "0" if on else "1")


@dataclass(frozen=True, slots=True)
class Launch:
    package: str

    def apply(self, actor: EffectTarget) -> None:
        actor.launch(self.package)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Clickable, but without effect."""

    def apply(self, actor: EffectTarget) -> None:
        pass


BACK = GoBack()
NOTHING = Nothing()
