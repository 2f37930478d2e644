"""Parse a payload as the Operator does (wire.md#payload-parsing-on-the-device): lenient about unknown parts, strict about others.

A refused payload has no envelope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from clawperator.engine.contracts.limits import utf16_length
from clawperator.engine.hierarchy.matcher import FIELDS, RELATIONS
from clawperator.engine.runtime import app_actions, plan
from clawperator.engine.runtime import retry as presets
from clawperator.engine.runtime.plan import Generation, OperatorPlan, PlanAction, PlanStep, at_least
from clawperator.engine.runtime.query import Query
from clawperator.engine.runtime.retry import RetryPolicy
from clawperator.engine.verbs.catalogue import KEYS

MAX_PAYLOAD_BYTES = 64_000
MAX_ACTIONS = 64
MAX_FIELD = 512
MAX_NTH = 1_000_000
MAX_URI = 2_048
DEFAULT_TIMEOUT_MS = 30_000


class PayloadError(ValueError):
    """The payload is refused as a whole; the text is the reason."""


class Number(str):
    """A JSON number in its original digits: the Operator converts it field by field."""

    __slots__ = ()


def read_payload(text: str, generation: Generation, *, host: bool = False) -> OperatorPlan:
    """The plan in a broadcast's ``payload`` extra, which for the ``host`` may have what no Operator reads. Raises ``PayloadError``."""
    if not text.strip():
        raise PayloadError("payload is blank")
    if len(text.encode("utf-8", "replace")) > MAX_PAYLOAD_BYTES:
        raise PayloadError(f"payload exceeds {MAX_PAYLOAD_BYTES} bytes")
    try:
        raw = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    except (ValueError, RecursionError) as exc:
        raise PayloadError(f"payload is not valid JSON: {exc}") from exc
    return read_plan(raw, generation, host=host)


def read_plan(raw: object, generation: Generation, *, host: bool = False) -> OperatorPlan:
    """The same from a decoded JSON value in its wire form (``scroll_and_click`` has its matcher under both keys).

    Raises ``PayloadError``.
    """
    root = Fields(raw, "payload")
    command_id = root.text("commandId", 128)
    task_id = root.text("taskId", 128)
    source = root.text("source", 64)
    timeout_ms = root.integer("timeoutMs", DEFAULT_TIMEOUT_MS, 1_000, 120_000)
    actions = root.raw.get("actions")
    if not isinstance(actions, list):
        raise PayloadError("actions must be an array")
    if not 1 <= len(actions) <= MAX_ACTIONS:
        raise PayloadError(f"actions must have 1 to {MAX_ACTIONS} entries")
    steps = tuple(_read_step(action, index, generation, host) for index, action in enumerate(actions))
    return OperatorPlan(command_id, task_id, source, timeout_ms, steps)


def _read_step(raw: object, index: int, generation: Generation, host: bool) -> PlanStep:
    fields = Fields(raw, f"actions[{index}]")
    step_id = fields.text("id", 128)
    given = fields.text("type", 64)
    name = given if given.lower() in app_actions.SPECS and given.lower() not in _TOASTS else given.lower()
    name = _SYNONYMS.get(name, name)
    if name == "snapshot" and at_least(generation, "0.10"):
        name = "snapshot_ui"
    reader = _READERS.get(name)
    if reader is None or not at_least(generation, _SINCE.get(name, "0.3")):
        raise PayloadError(f"unsupported action type at index={index}: {name}")
    params = Fields(fields.raw.get("params", {}), f"actions[{index}].params", generation, host)
    return PlanStep(step_id, name, reader(params, generation))


class Fields:
    """One JSON object of the payload, read the Operator's way: numbers may be quoted, wrong numbers fall to the default."""

    __slots__ = ("generation", "host", "raw", "where")

    def __init__(self, raw: object, where: str, generation: Generation = "0.3", host: bool = False) -> None:
        if not isinstance(raw, dict):
            raise PayloadError(f"{where} must be an object")
        self.raw: dict[str, Any] = raw
        self.where = where
        self.generation = generation
        self.host = host

    def text(self, key: str, limit: int = MAX_FIELD) -> str:
        """A required text that is not blank."""
        value = self.optional_text(key, limit)
        if not value.strip():
            raise PayloadError(f"{self.where}.{key} is required")
        return value

    def optional_text(self, key: str, limit: int = MAX_FIELD) -> str:
        return "" if self.raw.get(key) is None else self.primitive(key, limit)

    def primitive(self, key: str, limit: int) -> str:
        """A given value as text; ``null`` is the word."""
        value = self.raw[key]
        if isinstance(value, dict | list):
            raise PayloadError(f"{self.where}.{key} must be a primitive")
        text = _primitive(value)
        if utf16_length(text) > limit:
            raise PayloadError(f"{self.where}.{key} exceeds {limit} characters")
        return text

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        found = self.optional_integer(key)
        return min(max(default if found is None else found, low), high)

    def optional_integer(self, key: str) -> int | None:
        text = _primitive(self.raw.get(key))
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None

    def fraction(self, key: str, default: float, low: float, high: float) -> float:
        text = _primitive(self.raw.get(key))
        number = (
            float(text) if re.fullmatch(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", text) else default
        )
        return min(max(number, low), high)

    def flag(self, key: str, *, default: bool) -> bool:
        return {"true": True, "false": False}.get(_primitive(self.raw.get(key)).lower(), default)

    def exactly(self, *keys: str) -> None:
        """Refuse other parameters than these."""
        if others := self.raw.keys() - set(keys):
            raise PayloadError(f"{self.where} has an unknown key: {min(others)}")

    def whole(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """A JSON integer within its limits: others are refused, not clamped."""
        if key not in self.raw and default is not None:
            return default
        value = self.raw.get(key)
        if not isinstance(value, Number) or not re.fullmatch(r"[+-]?[0-9]{1,18}(\.0+)?", value):
            raise PayloadError(f"{self.where}.{key} must be an integer")
        if not low <= (found := int(value.partition(".")[0])) <= high:
            raise PayloadError(f"{self.where}.{key} must be in {low}..{high}")
        return found

    def strict_flag(self, key: str) -> bool:
        """A boolean that may be quoted; false where it is not given."""
        if key not in self.raw:
            return False
        if (found := {"true": True, "false": False}.get(_primitive(self.raw[key]).lower())) is None:
            raise PayloadError(f"{self.where}.{key} must be a boolean")
        return found

    def query(self, key: str) -> Query:
        """A required matcher."""
        found = self.optional_query(key)
        if found is None:
            raise PayloadError(f"{self.where}.{key} is required")
        return found

    def target(self, key: str, generation: Generation) -> Query:
        """A required matcher with what limits it (operator-0.10)."""
        found = self.query(key)
        if not at_least(generation, "0.10"):
            return found
        found = replace(found, container=self.optional_query("container"), strict=self.strict())
        if not self.host:
            return found
        nth = self.integer("nth", 0, 0, MAX_NTH) if "nth" in self.raw else None
        return replace(found, within=self.optional_query("within"), nth=nth)

    def strict(self) -> bool:
        value = self.raw.get("strict", False)
        if not isinstance(value, bool):
            raise PayloadError(f"{self.where}.strict must be a boolean")
        return value

    def optional_query(self, key: str) -> Query | None:
        if key not in self.raw:
            return None
        matcher = Fields(self.raw[key], f"{self.where}.{key}", self.generation)
        if self.host and "index" in matcher.raw:
            return Query({}, None, index=matcher.integer("index", 0, 0, MAX_NTH))
        related = at_least(self.generation, "0.10") and key not in RELATIONS
        names = RELATIONS if related else ()
        if at_least(self.generation, "0.10"):
            matcher.exactly(*FIELDS, *RELATIONS)
            if any(type(matcher.raw[name]) is not str for name in FIELDS if name in matcher.raw):
                raise PayloadError(f"{matcher.where} takes texts")
        around = {name: matcher.query(name) for name in names if name in matcher.raw}
        given = {name: matcher.primitive(name, MAX_FIELD) for name in FIELDS if name in matcher.raw}
        if not given and not around:
            raise PayloadError(f"{matcher.where} needs at least one field")
        if key in RELATIONS and (matcher.raw.keys() - given.keys() or not any(map(str.strip, given.values()))):
            raise PayloadError(f"{matcher.where} takes fields only, and at least one that is not blank")
        return Query.of(given, around if related else None)

    def retry(self, default: RetryPolicy, key: str = "retry") -> RetryPolicy:
        if key not in self.raw:
            return default
        given = Fields(self.raw[key], f"{self.where}.{key}")
        initial = given.integer("initialDelayMs", 0, 0, 30_000)
        return RetryPolicy(
            max_attempts=given.integer("maxAttempts", 1, 1, 10),
            initial_ms=initial,
            max_ms=given.integer("maxDelayMs", initial, initial, 60_000),
            multiplier=given.fraction("backoffMultiplier", 1.0, 1.0, 5.0),
            jitter=given.fraction("jitterRatio", 0.0, 0.0, 1.0),
        )

    def click_type(self) -> str:
        given = self.optional_text("clickType", 64).lower() or "default"
        how = _CLICK_TYPES.get(given)
        if how is None:
            raise PayloadError(f"{self.where}.clickType is not supported: {given}")
        return how

    def scroll(self, generation: Generation, retry: RetryPolicy = presets.NONE) -> plan.Scroll:
        direction = self.optional_text("direction", 64).lower() or "down"
        if direction not in ("down", "up", "left", "right"):
            raise PayloadError(f"{self.where}.direction is not supported: {direction}")
        return plan.Scroll(
            container=self.optional_query("container"),
            direction=direction,
            distance_ratio=self.fraction("distanceRatio", 0.7, 0.0, 1.0),
            settle_delay_ms=self.integer("settleDelayMs", 250, 0, 10_000),
            find_first_scrollable_child=self.flag("findFirstScrollableChild", default=True),
            strict=at_least(generation, "0.10") and self.strict(),
            retry=retry,
        )


def _primitive(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _click(p: Fields, generation: Generation) -> plan.Click:
    coordinate = _coordinate(p) if generation != "0.3" and "coordinate" in p.raw else None
    if coordinate is not None and "matcher" in p.raw:
        raise PayloadError(f"{p.where} takes either matcher or coordinate")
    limited = at_least(generation, "0.10") and ("container" in p.raw or p.strict())
    if coordinate is not None and limited:
        raise PayloadError(f"{p.where}.coordinate takes neither container nor strict")
    matcher = None if coordinate is not None else p.target("matcher", generation)
    how = p.click_type()
    if coordinate is not None and how == "focus":
        raise PayloadError(f"{p.where}.clickType focus needs a matcher")
    return plan.Click(matcher, coordinate, how, p.retry(presets.UI_READINESS))


def _coordinate(p: Fields, key: str = "coordinate") -> plan.Point:
    given = Fields(p.raw.get(key), f"{p.where}.{key}")
    x, y = given.optional_integer("x"), given.optional_integer("y")
    if x is None or y is None or x < 0 or y < 0:
        raise PayloadError(f"{given.where} needs integers x and y from 0")
    return plan.Point(x, y)


def _open_app(p: Fields, generation: Generation) -> plan.OpenApp:
    package, retry = p.text("applicationId"), p.retry(presets.APP_LAUNCH)
    if not at_least(generation, "0.9"):
        return plan.OpenApp(package, retry)
    timed = "navigationTimeoutMs" in p.raw
    wait_ms = p.whole("navigationTimeoutMs", 1_000, 120_000) if timed else None
    return plan.OpenApp(package, retry, not p.strict_flag("skipNavigationWait"), wait_ms)


def _enter_text(p: Fields, generation: Generation) -> plan.EnterText:
    target, text = p.target("matcher", generation), p.text("text")
    clear = at_least(generation, "0.9") and p.strict_flag("clear")
    return plan.EnterText(target, text, p.flag("submit", default=False), p.retry(presets.UI_READINESS), clear)


def _query_ui(p: Fields, _: Generation) -> plan.QueryUi:
    p.exactly("matcher", "visibility", "limit")
    visibility = p.optional_text("visibility", 16) if "visibility" in p.raw else "on_screen"
    if visibility not in ("on_screen", "all"):
        raise PayloadError(f"{p.where}.visibility is not supported: {visibility}")
    return plan.QueryUi(p.optional_query("matcher"), visibility == "all", p.whole("limit", 1, 1_000, 100))


def _gesture(*times: str) -> Callable[[Fields, Generation], plan.Gesture]:
    """``times`` are the parameters of how long it moves, and how long it holds before."""

    def read(p: Fields, _: Generation) -> plan.Gesture:
        p.exactly("start", "end", *times)
        start, end = _coordinate(p, "start"), _coordinate(p, "end")
        if start == end:
            raise PayloadError(f"{p.where} needs two points")
        return plan.Gesture(start, end, *(p.whole(name, 1, 10_000) for name in times))

    return read


def _app_action(name: str) -> Callable[[Fields, Generation], plan.AppAction]:
    def read(p: Fields, _: Generation) -> plan.AppAction:
        values = app_actions.values_of(name, p.raw, Number)
        if isinstance(values, str):
            raise PayloadError(f"{p.where}: {values}")
        return plan.AppAction(name, values)

    return read


def _read_text(p: Fields, generation: Generation) -> plan.ReadText:
    known = ("temperature",) if generation == "0.3" else ("temperature", "version", "regex")
    validator = p.optional_text("validator", 64).lower()
    if validator and validator not in known:
        raise PayloadError(f"{p.where}.validator is not supported: {validator}")
    newer = generation != "0.3"
    return plan.ReadText(
        matcher=p.target("matcher", generation),
        container=p.optional_query("container") if newer else None,
        all=newer and p.flag("all", default=False),
        validator=validator,
        pattern=p.text("validatorPattern") if validator == "regex" else "",
        retry=p.retry(presets.UI_READINESS),
    )


def _press_key(p: Fields, _: Generation) -> plan.PressKey:
    key = p.text("key", 32).lower()
    if key not in KEYS:
        raise PayloadError(f"{p.where}.key is not supported: {key}")
    return plan.PressKey(key)


def _wait_for_node(p: Fields, generation: Generation) -> plan.WaitForNode:
    timed = generation != "0.3" and p.optional_integer("timeoutMs") is not None
    timeout = p.integer("timeoutMs", 1, 1, 120_000) if timed else None
    return plan.WaitForNode(p.target("matcher", generation), p.retry(presets.UI_READINESS), timeout)


def _scroll_until(p: Fields, generation: Generation) -> plan.ScrollUntil:
    newer = generation != "0.3"
    matcher = p.target("matcher", generation) if newer and "matcher" in p.raw else None
    click_after = newer and p.flag("clickAfter", default=False)
    if click_after and matcher is None:
        raise PayloadError(f"{p.where}.matcher is required with clickAfter")
    longest = p.optional_integer("maxDurationMs")
    return plan.ScrollUntil(
        scroll=p.scroll(generation),
        max_scrolls=p.integer("maxScrolls", 20, 1, 200),
        max_duration_ms=None if longest is None else min(max(longest, 0), 120_000),
        threshold=p.integer("noPositionChangeThreshold", 3, 1, 20),
        matcher=matcher,
        click_after=click_after,
        how=p.click_type() if newer else "click",
    )


def _scroll_and_click(p: Fields, generation: Generation) -> plan.ScrollAndClick:
    return plan.ScrollAndClick(
        target=p.target("target" if generation == "0.3" else "matcher", generation),
        scroll=p.scroll(generation),
        max_swipes=p.integer("maxSwipes", 10, 1, 50),
        click_after=p.flag("clickAfter", default=True),
        how=p.click_type(),
        scroll_retry=p.retry(presets.UI_SCROLL, "scrollRetry"),
        click_retry=p.retry(presets.UI_READINESS, "clickRetry"),
    )


def _wait_for_navigation(p: Fields, _: Generation) -> plan.WaitForNavigation:
    package, node = p.optional_text("expectedPackage"), p.optional_query("expectedNode")
    if not package.strip() and node is None:
        raise PayloadError(f"{p.where} needs expectedPackage or expectedNode")
    if p.optional_integer("timeoutMs") is None:
        raise PayloadError(f"{p.where}.timeoutMs is required")
    return plan.WaitForNavigation(package, node, p.integer("timeoutMs", 1, 1, 30_000))


def _recording(command: Literal["start", "stop"]) -> Callable[[Fields, Generation], plan.RecordAction]:
    def read(p: Fields, _: Generation) -> plan.RecordAction:
        session = p.optional_text("sessionId", 128)
        if session and not re.fullmatch(r"[A-Za-z0-9_-]+", session):
            raise PayloadError(f"{p.where}.sessionId has characters beyond A-Z a-z 0-9 _ -")
        return plan.RecordAction(command, session)

    return read


_CLICK_TYPES = {
    "default": "click",
    "click": "click",
    "long_click": "long_click",
    "longclick": "long_click",
    "focus": "focus",
}
_SYNONYMS = {"find_node": "wait_for_node", "type_text": "enter_text", "key_press": "press_key"}
_TOASTS = ("show_toast", "cancel_toast")
"""The other actions of the app alone must be written in lower case."""
_SINCE: Mapping[str, Generation] = {
    **dict.fromkeys(("wait_for_navigation", "read_key_value_pair", "start_recording", "stop_recording"), "0.5"),
    "query_ui": "0.10",
    **dict.fromkeys(("swipe", "drag"), "0.12"),
    **{name: "0.10" if name.endswith("_on_screen_log") else "0.12" for name in app_actions.SPECS},
}
"""The first simulated generation with each later action."""
_READERS: Mapping[str, Callable[[Fields, Generation], PlanAction]] = {
    "open_app": _open_app,
    "open_uri": lambda p, _: plan.OpenUri(p.text("uri", MAX_URI), p.retry(presets.APP_LAUNCH)),
    "close_app": lambda p, _: plan.CloseApp(p.text("applicationId")),
    "wait_for_node": _wait_for_node,
    "click": _click,
    "scroll_and_click": _scroll_and_click,
    "scroll": lambda p, g: p.scroll(g, p.retry(presets.NONE)),
    "scroll_until": _scroll_until,
    "read_text": _read_text,
    "enter_text": _enter_text,
    "snapshot_ui": lambda p, _: plan.SnapshotUi(p.retry(presets.UI_READINESS)),
    "take_screenshot": lambda _p, _g: plan.TakeScreenshot(),
    "doctor_ping": lambda _p, _g: plan.DoctorPing(),
    "press_key": _press_key,
    "sleep": lambda p, _: plan.Sleep(p.integer("durationMs", 0, 0, 120_000)),
    "wait_for_navigation": _wait_for_navigation,
    "read_key_value_pair": lambda p, _: plan.ReadKeyValuePair(p.query("labelMatcher"), p.retry(presets.UI_READINESS)),
    "start_recording": _recording("start"),
    "stop_recording": _recording("stop"),
    "query_ui": _query_ui,
    "swipe": _gesture("durationMs"),
    "drag": _gesture("moveDurationMs", "holdDurationMs"),
    **{name: _app_action(name) for name in app_actions.SPECS},
}
