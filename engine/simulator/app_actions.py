"""What the Operator app does beside the screen: toasts, its on-screen log, notifications and media sessions (operator-0.10, actions).

The layout of ``payload`` is the simulator's own beyond ``schemaVersion``: the contract does not have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.runtime.outcome import ActionResult, failure, success
from clawperator.engine.runtime.query import as_json
from clawperator.engine.runtime.surface import Clock
from clawperator.engine.simulator.packages import SimulatedPackage
from clawperator.engine.simulator.scenario import MediaSession, Notification, Scenario
from clawperator.engine.simulator.ui import Panel, Ui

_LISTENERS = "enabled_notification_listeners"
_ON_PANEL_SDK = 22
_LINE = 1.2
"""Height of a line of the panel, by the size of its text; its padding is 8 dp."""
_PADDING_DP = 8


@dataclass(slots=True)
class _Session:
    """A media session, and when its position was ``at_ms``."""

    id: str
    profile: MediaSession
    playing: bool
    at_ms: int
    since: float


class AppActions:
    """One device's notifications, media sessions and panel."""

    def __init__(self, scenario: Scenario, clock: Clock, ui: Ui, packages: Mapping[str, SimulatedPackage]) -> None:
        self._clock, self._ui = clock, ui
        self._sdk, self._locked = scenario.device.sdk, scenario.device.locked
        self._panel: Panel | None = None
        uid = {name: package.uid for name, package in packages.items()}
        self.notifications: dict[str, Notification] = {
            f"0|{each.package}|{each.id}|{each.tag or 'null'}|{uid.get(each.package, 10_000)}": each
            for each in scenario.notifications
        }
        self.sessions = [
            _Session(f"session-{number}", each, each.state == "playing", each.position_ms, clock.now())
            for number, each in enumerate(scenario.media, 1)
        ]
        self.invoked: list[tuple[str, str]] = []
        """Key and action of each button that was pressed."""
        self.toast = ""

    @property
    def panel(self) -> Panel | None:
        if self._panel is not None and self._clock.now() >= self._panel.until:
            self._panel = None
        return self._panel

    async def perform(self, name: str, values: Mapping[str, Any], listener: str, clock: Clock) -> ActionResult:
        """Carry out one action of the app whose notification listener is ``listener``; ``clock`` has the command's deadline."""
        match name:
            case "show_toast" | "cancel_toast":
                self.toast = values.get("text", "")
                shown = {"duration": values["duration"]} if name == "show_toast" else {}
                return success({"submitted": "true", **shown})
            case "set_on_screen_log":
                return self._show(values)
            case "clear_on_screen_log":
                self._panel = None
                return success({"visible": "false"})
        listed = self._ui.settings["secure"].get(_LISTENERS, "").split(":")
        if listener not in listed:
            return _refused("NOTIFICATION_ACCESS_REQUIRED", "Notification access is not enabled for the app", values)
        if name == "observe_media":
            return await self._observe(values, clock)
        if name.startswith(("list_", "dismiss_", "invoke_")):
            return self._of_notifications(name, values)
        return self._of_media(name, values)

    # -- the panel

    def _show(self, values: Mapping[str, Any]) -> ActionResult:
        if self._sdk < _ON_PANEL_SDK:
            return failure("ON_SCREEN_LOG_SERVICE_UNAVAILABLE", {"message": "Overlays need API 22"})
        panel, is_cut = self._laid_out(values)
        if panel.bounds.empty:
            return failure("ON_SCREEN_LOG_LAYOUT_INVALID", {"message": "The panel does not fit on the display"})
        self._panel = panel
        shape = ("topOffsetDp", "edgeOffsetDp", "widthDp", "fontSizeSp")
        names = ("top_offset_dp", "edge_offset_dp", "width_dp", "font_size_sp")
        return success(
            {
                "visible": "true",
                "rendered": "true",
                "truncated": "true" if is_cut else "false",
                "anchor": values["anchor"],
                "text_align": values["textAlign"],
                **{name: str(values[given]) for name, given in zip(names, shape, strict=True)},
                "text_color": panel.ink,
                "background_color": panel.paper,
                "ttl_ms": str(values["ttlMs"]),
                "bounds": str(panel.bounds),
            }
        )

    def _laid_out(self, values: Mapping[str, Any]) -> tuple[Panel, bool]:
        """Return the panel, and whether lines are cut off; its bounds are empty if nothing of it is on the display."""
        scale = self._ui.metrics.density / 160
        width, height = self._ui.display
        text = values["text"] or values["template"]
        line = values["fontSizeSp"] * _LINE * scale
        edge, top = round(values["edgeOffsetDp"] * scale), round(values["topOffsetDp"] * scale)
        wide = min(round(values["widthDp"] * scale), width - edge)
        tall = round(line * (text.count("\n") + 1) + 2 * _PADDING_DP * scale)
        left = edge if values["anchor"] == "left" else width - edge - wide
        box = Bounds(left, top, left + wide, min(top + tall, height)) if wide > 0 else Bounds(0, 0, 0, 0)
        ink, paper = (_argb(values[name]) for name in ("textColor", "backgroundColor"))
        until = self._clock.now() + values["ttlMs"] / 1000
        right = values["textAlign"] == "right"
        return Panel(text, box, values["fontSizeSp"], right, ink, paper, until), top + tall > height

    # -- notifications

    def _of_notifications(self, name: str, values: Mapping[str, Any]) -> ActionResult:
        if name == "list_media_sessions":
            own = [session for session in self.sessions if values["applicationId"] in ("", session.profile.package)]
            return _listed("sessions", [self._described(one, values["maxTextChars"]) for one in own], values["limit"])
        if name == "list_notifications":
            mine = {key: one for key, one in self.notifications.items() if values["applicationId"] in ("", one.package)}
            payload = [_notification(key, one, values["maxTextChars"]) for key, one in mine.items()]
            return _listed("notifications", payload, values["limit"])
        key = values["notificationKey"]
        if not self._ui.awake or self._locked:
            return _refused("NOTIFICATION_DEVICE_NOT_INTERACTIVE", "The device is locked or its screen is off", values)
        found = self.notifications.get(key)
        if found is None:
            return _refused("NOTIFICATION_NOT_FOUND", "No active notification has this key", values)
        if name == "dismiss_notification":
            if found.ongoing:
                return _refused("NOTIFICATION_NOT_DISMISSIBLE", "The notification is ongoing", values)
            del self.notifications[key]
            return _done({"notificationKey": key, "dismissed": True})
        if values["actionId"] not in {action.id for action in found.actions}:
            return _refused("NOTIFICATION_ACTION_NOT_FOUND", "The notification has no such action", values)
        self.invoked.append((key, values["actionId"]))
        return _done({"notificationKey": key, "actionId": values["actionId"]})

    # -- media

    def _of_media(self, name: str, values: Mapping[str, Any]) -> ActionResult:
        wanted = (values["mediaSessionId"], values["applicationId"])
        found = [one for one in self.sessions if one.id == wanted[0] or one.profile.package == wanted[1]]
        if len(found) != 1:
            code = "MEDIA_SESSION_AMBIGUOUS" if found else "MEDIA_SESSION_NOT_FOUND"
            return _refused(code, f"{len(found)} media sessions match", values)
        session = found[0]
        if name == "media_seek":
            if not session.profile.seekable:
                return _refused("MEDIA_ACTION_UNSUPPORTED", "The session cannot seek", values)
            session.at_ms = min(values["positionMs"], session.profile.duration_ms)
            session.since = self._clock.now()
        elif name != "get_media_status":
            session.at_ms, session.since = self._position_ms(session), self._clock.now()
            session.playing = name == "media_play"
        payload = {"session": self._described(session, 1_024)}
        return _read(payload) if name == "get_media_status" else _done(payload)

    async def _observe(self, values: Mapping[str, Any], clock: Clock) -> ActionResult:
        before = [(one, replace(one)) for one in self.sessions]
        await clock.sleep(values["durationMs"] / 1000)
        changes = [self._described(now, 1_024) for now, then in before if now.playing != then.playing]
        payload = {"durationMs": values["durationMs"], "changes": changes}
        payload["sessions"] = [self._described(one, 1_024) for one in self.sessions]
        return _read(payload)

    def _position_ms(self, session: _Session) -> int:
        moved = (self._clock.now() - session.since) * 1000 if session.playing else 0
        return min(round(session.at_ms + moved), session.profile.duration_ms)

    def _described(self, session: _Session, longest: int) -> dict[str, Any]:
        profile = session.profile
        actions = ["pause" if session.playing else "play", *(["seek"] if profile.seekable else [])]
        return {
            "mediaSessionId": session.id,
            "applicationId": profile.package,
            "state": "playing" if session.playing else "paused",
            "title": profile.title[:longest],
            "artist": profile.artist[:longest],
            "positionMs": self._position_ms(session),
            "durationMs": profile.duration_ms,
            "actions": actions,
        }


def _notification(key: str, found: Notification, longest: int) -> dict[str, Any]:
    return {
        "notificationKey": key,
        "applicationId": found.package,
        "title": found.title[:longest],
        "text": found.text[:longest],
        "ongoing": found.ongoing,
        "actions": [{"actionId": action.id, "title": action.title[:longest]} for action in found.actions],
    }


def _listed(name: str, entries: list[dict[str, Any]], limit: int) -> ActionResult:
    shown = entries[:limit]
    payload = {"totalCount": len(entries), "returnedCount": len(shown), "truncated": len(shown) < len(entries)}
    return _read({**payload, name: shown})


def _read(payload: Mapping[str, Any]) -> ActionResult:
    return success({"payload": as_json({"schemaVersion": 1, **payload})})


def _done(payload: Mapping[str, Any]) -> ActionResult:
    return success({"payload": as_json({"schemaVersion": 1, **payload}), "dispatched": "true"})


def _refused(code: str, words: str, values: Mapping[str, Any]) -> ActionResult:
    waited = {name: str(values[name]) for name in ("waitTimeoutMs",) if name in values}
    return ActionResult(False, {"errorCode": code, "error": words, "dispatched": "false", **waited})


def _argb(color: str) -> str:
    """Return a colour in upper case with its alpha."""
    return f"#FF{color[1:]}".upper() if len(color) == 7 else color.upper()
