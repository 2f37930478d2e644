"""The action types, one model of parameters each (execution.md#actions, wire.md#payload-parsing-on-the-device). Everything else derives from them."""

# ruff: noqa: N815 - fields are named as JSON names them
# No postponed annotations here: pydantic would evaluate every string again, which noticeably slows down each command.

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler, ValidationError, create_model
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from clawperator.engine.contracts.aliases import spelled
from clawperator.engine.contracts.limits import MAX_EXECUTION_TIMEOUT_MS
from clawperator.engine.contracts.matcher import NodeMatcher
from clawperator.engine.contracts.pattern import pattern_complaint
from clawperator.engine.contracts.strict import ABSENT, RULES, Strict, again, none_of, problem, unknown
from clawperator.engine.contracts.values import (
    NOT_BLANK,
    ApplicationId,
    ClickType,
    Color,
    Coordinate,
    Direction,
    Id,
    Key,
    NotificationKey,
    Number,
    Path,
    Pattern,
    RetryParams,
    SessionId,
    ShownText,
    Side,
    SnapshotFormat,
    Text,
    ToastDuration,
    Uri,
    Validator,
    Visibility,
    Whole,
    optional,
)

FIRST_GENERATION = "0.3"
_0_3_2 = "0.3.2"
_0_5 = "0.5"
_0_7 = "0.7"
_0_9_2 = "0.9.2"
_0_10 = "0.10"
_0_11 = "0.11"
_0_11_1 = "0.11.1"
_0_11_2 = "0.11.2"
_0_11_3 = "0.11.3"
_0_12_5 = "0.12.5"
_PACKAGE_NAME = "Android package name, such as `com.android.settings`."
_IGNORED = "Accepted and ignored."


def _retry(preset: str) -> Any:
    return optional(f"Retry policy of this step; default: the device's preset {preset}.")


def _inside() -> Any:
    return optional("Look only inside this node.", since=_0_10)


def _strictly() -> Any:
    return optional("Fail if several nodes match, instead of taking the first.", default=False, since=_0_10)


def _nth() -> Any:
    return optional(
        "Take the match at this position, from 0, instead of the first. The host chooses it.", ge=0, le=1_000_000
    )


def _within() -> Any:
    return optional("Take a match inside this node, else in the row of a list that it is in. The host chooses it.")


HOST_CHOICES = ("nth", "within")
"""Parameters by which the host chooses the node, so that no Operator app gets them."""


class Params(Strict):
    """The parameters of any action. All action types accept the whole vocabulary (execution.md#actions).

    ``since`` is the first Operator version with the action type; one of the parameters ``one_of`` is required.
    ``host_only`` parameters are not sent. ``background``: the app needs neither its accessibility service nor a lit screen.
    ``refused`` is what ``problems`` refuses, as JSON Schemas, except what JSON Schema cannot express: a ``target`` that differs
    from ``matcher``, an invalid ``validatorPattern``, a gesture that ends where it starts.
    """

    since: ClassVar[str] = FIRST_GENERATION
    background: ClassVar[bool] = False
    one_of: ClassVar[tuple[str, ...]] = ()
    refused: ClassVar[tuple[JsonDict, ...]] = ()
    host_only: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        """Check parameters that the action does not use for their form only; report those outside the vocabulary."""
        unused = {key: value for key, value in given.items() if key in VOCABULARY and key not in cls.model_fields}
        if unused:
            try:
                _vocabulary().model_validate(unused)
            except ValidationError as exc:
                yield from (again(error) for error in exc.errors(include_url=False) if error["type"] not in RULES)
        for name in HOST_CHOICES:
            if name in unused:  # without it another node would be taken
                yield problem("rule", f"params.{name} is not supported by this action", name)
        yield from unknown(given, VOCABULARY)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        answer = handler(schema)
        none: JsonDict = {"properties": dict.fromkeys(cls.one_of, ABSENT)}
        if refused := [*([none] if cls.one_of else []), *cls.refused]:
            handler.resolve_ref_schema(answer).update(none_of(*refused))
        return answer


class OpenApp(Params):
    """Start an app by its launcher entry; from Operator 0.9.2 on it waits until the app is in front."""

    applicationId: ApplicationId = Field(description=_PACKAGE_NAME)
    skipNavigationWait: bool = optional("Do not wait until the app is in front.", default=False, since=_0_9_2)
    navigationTimeoutMs: Whole = optional(
        "Maximum wait for the app in milliseconds; a longer one fails the step.",
        default=15_000,
        since=_0_9_2,
        ge=1_000,
        le=MAX_EXECUTION_TIMEOUT_MS,
    )
    retry: RetryParams = _retry("AppLaunch")


class OpenUri(Params):
    """Open a URI with whatever app handles it."""

    uri: Uri = Field(description="The URI; any scheme.")
    retry: RetryParams = _retry("AppLaunch")


class CloseApp(Params):
    """Force-stop an app. The host does it before the whole plan runs, whatever the position in the list."""

    applicationId: ApplicationId = Field(description=_PACKAGE_NAME)
    retry: RetryParams = optional(_IGNORED)


class WaitForNode(Params):
    """Wait until a node satisfies the matcher."""

    matcher: NodeMatcher = Field(description="The node to wait for.")
    retry: RetryParams = _retry("UiReadiness")
    timeoutMs: Whole = optional("Maximum wait in milliseconds.", since=_0_5, ge=1, le=MAX_EXECUTION_TIMEOUT_MS)
    container: NodeMatcher = _inside()
    strict: bool = _strictly()
    nth: Whole = _nth()
    within: NodeMatcher = _within()


class Click(Params):
    """Click the first node that satisfies the matcher, or a point of the screen; exactly one of the two."""

    one_of = ("matcher", "coordinate")
    refused = (
        {"required": ["matcher", "coordinate"], "properties": {"matcher": {}, "coordinate": {}}},
        {"required": ["coordinate", "clickType"], "properties": {"coordinate": {}, "clickType": {"const": "focus"}}},
        {"required": ["coordinate", "container"], "properties": {"coordinate": {}, "container": {}}},
        {"required": ["coordinate", "strict"], "properties": {"coordinate": {}, "strict": {"const": True}}},
        {"required": ["coordinate", "nth"], "properties": {"coordinate": {}, "nth": {}}},
        {"required": ["coordinate", "within"], "properties": {"coordinate": {}, "within": {}}},
    )

    matcher: NodeMatcher = optional("The node to click.")
    coordinate: Coordinate = optional("The point to click.", since=_0_5)
    container: NodeMatcher = _inside()
    strict: bool = _strictly()
    nth: Whole = _nth()
    within: NodeMatcher = _within()
    clickType: ClickType = optional("How to click.", default="default")
    retry: RetryParams = _retry("UiReadiness")

    @classmethod
    def problems(cls, given: Mapping[str, Any], context: object) -> Iterator[InitErrorDetails]:
        if "matcher" not in given and "coordinate" not in given:
            if context == "flat":
                yield problem("needed", "click requires params.matcher or params.coordinate")
            else:
                yield problem("needed", "click requires params.matcher", "matcher")
        if "matcher" in given and "coordinate" in given:
            yield problem("rule", "click params.matcher and params.coordinate are mutually exclusive")
        if "coordinate" in given and _word(given.get("clickType")) == "focus":
            yield problem("rule", "click params.coordinate does not support clickType='focus'", "clickType")
        for name in ("container", *HOST_CHOICES):
            if "coordinate" in given and name in given:
                yield problem("rule", f"click params.coordinate does not support params.{name}", name)
        if "coordinate" in given and given.get("strict") is True:
            yield problem("rule", "click params.coordinate does not support strict=true", "strict")


class ReadText(Params):
    """Read the label of the first node that satisfies the matcher."""

    refused = (
        {
            "required": ["validator"],
            "properties": {"validator": {"const": "regex"}, "validatorPattern": {"not": {"pattern": NOT_BLANK}}},
        },
    )

    matcher: NodeMatcher = Field(description="The node to read.")
    validator: Validator = optional("The format that the text must have.")
    validatorPattern: Pattern = optional("Java regular expression for the whole text, with `regex`.", since=_0_3_2)
    all: bool = optional("Read every matching node.", default=False, since=_0_5)
    container: NodeMatcher = optional("Read only inside this node.", since=_0_5)
    strict: bool = _strictly()
    nth: Whole = _nth()
    within: NodeMatcher = _within()
    retry: RetryParams = _retry("UiReadiness")

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        pattern = given.get("validatorPattern", "")
        if _word(given.get("validator")) != "regex" or not isinstance(pattern, str):
            return
        if not pattern.strip():
            message = "read_text with validator='regex' requires params.validatorPattern"
            yield problem("rule", message, "validatorPattern")
        elif pattern_complaint(pattern):
            message = "read_text params.validatorPattern is not a valid regex pattern"
            yield problem("rule", message, "validatorPattern")


class EnterText(Params):
    """Replace the text of a field."""

    matcher: NodeMatcher = Field(description="The field to type into.")
    container: NodeMatcher = _inside()
    strict: bool = _strictly()
    nth: Whole = _nth()
    within: NodeMatcher = _within()
    text: Text = Field(description="The new text; not blank.")
    submit: bool = optional("Click the field again afterwards; this does not press Enter.", default=False)
    clear: bool = optional(
        "Empty the field first, from Operator 0.7 on; the text is replaced in any case.", default=False
    )
    retry: RetryParams = _retry("UiReadiness")


class SnapshotUi(Params):
    """Dump the tree of the active window."""

    host_only = frozenset({"format"})

    format: SnapshotFormat = optional(
        "How `data.text` shows the tree; the host renders it from the device's dump. `hierarchy_xml` (default): the dump itself. "
        "`ascii`: what is on screen as indented lines, one node each, unlabelled containers folded. `json`: the whole tree as JSON "
        "text. `data.actual_format` says what the text is."
    )
    retry: RetryParams = _retry("UiReadiness")


class TakeScreenshot(Params):
    """Take a picture of the screen; the host does it after the whole plan has run."""

    path: Path = optional(
        "File to write on the host; its folder must exist. Default: a new file in the folder for temporary files."
    )
    retry: RetryParams = _retry("None")


class Sleep(Params):
    """Wait on the device."""

    durationMs: Whole = Field(
        ge=0,
        le=MAX_EXECUTION_TIMEOUT_MS,
        description="Duration in milliseconds; counts towards the execution's timeoutMs.",
    )
    retry: RetryParams = _retry("None")


class PressKey(Params):
    """Press a system key."""

    key: Key = Field(description="The key to press.")
    retry: RetryParams = optional(_IGNORED)


class _Scrolling(Params):
    container: NodeMatcher = optional("What to scroll; default: the first scrollable node on screen.")
    strict: bool = _strictly()
    direction: Direction = optional("Scroll direction: `down` reveals content below.", default="down")
    distanceRatio: Number = optional("Length of the swipe, as a share of the container.", default=0.7, ge=0.0, le=1.0)
    settleDelayMs: Whole = optional("Pause after each swipe, in milliseconds.", default=250, ge=0, le=10_000)
    findFirstScrollableChild: bool = optional("Scroll the first scrollable node inside a container.", default=True)


class Scroll(_Scrolling):
    """Scroll once."""

    retry: RetryParams = _retry("None")


class ScrollUntil(_Scrolling):
    """Scroll until an end, a limit or a node is reached."""

    refused = ({"required": ["clickAfter"], "properties": {"clickAfter": {"const": True}, "matcher": ABSENT}},)

    maxScrolls: Whole = optional("Maximum number of swipes.", default=20, ge=1, le=200)
    maxDurationMs: Whole = optional(
        "Maximum time in milliseconds; by default, the stock backend takes 3,000 a swipe.",
        default=10_000,
        ge=0,
        le=MAX_EXECUTION_TIMEOUT_MS,
    )
    noPositionChangeThreshold: Whole = optional(
        "Number of swipes without movement that ends the search.", default=3, ge=1, le=20
    )
    matcher: NodeMatcher = optional("Stop when this node is visible.", since=_0_3_2)
    clickAfter: bool = optional("Click the node that was found.", default=False, since=_0_3_2)
    clickType: ClickType = optional("How to click.", default="default", since=_0_3_2)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if given.get("clickAfter") is True and "matcher" not in given:
            yield problem("rule", "scroll_until params.clickAfter=true requires params.matcher", "matcher")


class ScrollAndClick(_Scrolling):
    """Scroll until a node is visible, then click it. `target` and `matcher` mean the same; give one."""

    one_of = ("target", "matcher")

    target: NodeMatcher = optional("The node to look for.")
    matcher: NodeMatcher = optional("The node to look for; another name of `target`.")
    maxSwipes: Whole = optional("Maximum number of swipes.", default=10, ge=1, le=50)
    clickAfter: bool = optional("Click the node that was found.", default=True)
    clickType: ClickType = optional("How to click.", default="default")
    scrollRetry: RetryParams = _retry("UiScroll")
    clickRetry: RetryParams = _retry("UiReadiness")

    @classmethod
    def problems(cls, given: Mapping[str, Any], context: object) -> Iterator[InitErrorDetails]:
        if "target" not in given and "matcher" not in given:
            name = "matcher" if context == "flat" else "target"
            yield problem("needed", f"scroll_and_click requires params.{name}", name)
        matchers = [
            NodeMatcher.known(each) for each in (given.get("target"), given.get("matcher")) if isinstance(each, dict)
        ]
        if len(matchers) == 2 and matchers[0] != matchers[1]:
            yield problem("rule", "scroll_and_click params.target and params.matcher differ")


class WaitForNavigation(Params):
    """Wait until another app comes to the front, or a node appears; whichever is first."""

    since = _0_3_2
    one_of = ("expectedPackage", "expectedNode")

    expectedPackage: Text = optional("The package to wait for; it must not already be in the foreground.")
    expectedNode: NodeMatcher = optional("The node to wait for.")
    timeoutMs: Whole = Field(ge=1, le=30_000, description="Maximum wait in milliseconds.")

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if "expectedPackage" not in given and "expectedNode" not in given:
            names = "params.expectedPackage or params.expectedNode"
            yield problem("needed", f"wait_for_navigation requires at least one of {names}")


class ReadKeyValuePair(Params):
    """Read the value beside a label, as on a settings page."""

    since = _0_3_2

    labelMatcher: NodeMatcher = Field(description="The label.")
    all: bool = optional("Accepted and ignored.", default=False)
    retry: RetryParams = _retry("UiReadiness")


class StartRecording(Params):
    """Record what happens on the device into a file there."""

    since = _0_3_2

    sessionId: SessionId = optional("Name of the recording; default: a generated one.")


class StopRecording(Params):
    """Finish the running recording."""

    since = _0_3_2

    sessionId: SessionId = optional("Name of the recording.")


# -- actions of Operator 0.10 and later: the app refuses what is not theirs


class ExactParams(Params):
    """The parameters of an action that takes no others: the app would not answer."""

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        return unknown(given, cls.model_fields)


class QueryUi(ExactParams):
    """List the nodes of the active window, with their states, as JSON in `data.query`."""

    since = _0_10

    matcher: NodeMatcher = optional("The nodes to list; default: all.")
    visibility: Visibility = optional("`on_screen`, or `all`: also nodes off screen.", default="on_screen")
    limit: Whole = optional("Maximum number of nodes.", default=100, ge=1, le=1_000)


class _Gesture(ExactParams):
    start: Coordinate = Field(description="Where the finger touches the screen, in pixels.")
    end: Coordinate = Field(description="Where it leaves the screen; another point.")

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if given.get("start") == given.get("end") and isinstance(given.get("start"), dict):
            name = next(name for name, spec in ACTIONS.items() if spec is cls)
            yield problem("rule", f"{name} params.start and params.end must differ", "end")


_GESTURE_MS: Any = {"ge": 1, "le": 10_000}


class Swipe(_Gesture):
    """Move a finger from one point of the screen to another. Where the app cannot, Android's `input` does it."""

    since = _0_11_3

    durationMs: Whole = Field(**_GESTURE_MS, description="Duration of the movement in milliseconds.")


class Drag(_Gesture):
    """Hold a finger at a point, then move it to another one. Where the app cannot, Android's `input` does it."""

    since = _0_12_5

    holdDurationMs: Whole = Field(
        **_GESTURE_MS,
        description="How long the finger rests first, in milliseconds; `input` holds as long as a long click.",
    )
    moveDurationMs: Whole = Field(**_GESTURE_MS, description="Duration of the movement in milliseconds.")


class ShowToast(ExactParams):
    """Show a short message of the system on the screen."""

    since = _0_11_3

    text: ShownText = Field(description="The message; not blank.")
    duration: ToastDuration = optional("How long it is shown.", default="short")


class CancelToast(ExactParams):
    """Remove the message of `show_toast`."""

    since = _0_11_3


class SetOnScreenLog(ExactParams):
    """Show a panel with text over all apps; touches pass through it. It is in screenshots, not in the tree."""

    since = _0_10
    one_of = ("text", "template")
    refused = ({"required": ["text", "template"], "properties": {"text": {}, "template": {}}},)

    text: ShownText = optional("The text; line feeds and tabs are allowed.")
    template: ShownText = optional("The text with placeholders that the app fills in.", since=_0_11_2)
    anchor: Side = optional("The side of the screen.", default="left")
    textAlign: Side = optional("The alignment of its lines.", default="left")
    topOffsetDp: Whole = optional("Distance from the top, in dp.", default=8, ge=0, le=1_000)
    edgeOffsetDp: Whole = optional("Distance from the side, in dp.", default=8, ge=0, le=1_000)
    widthDp: Whole = optional("Width in dp.", default=280, ge=80, le=600)
    fontSizeSp: Whole = optional("Size of the text in sp.", default=12, ge=8, le=24)
    textColor: Color = optional("`#RRGGBB` or `#AARRGGBB`.", default="#FFFFFFFF")
    backgroundColor: Color = optional("`#RRGGBB` or `#AARRGGBB`.", default="#B3000000")
    ttlMs: Whole = optional("Time until it disappears, in milliseconds.", default=300_000, ge=1_000, le=3_600_000)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if len({"text", "template"} & given.keys()) != 1:
            yield problem("needed", "set_on_screen_log requires exactly one of params.text and params.template")


class ClearOnScreenLog(ExactParams):
    """Remove the panel of `set_on_screen_log`, if there is one."""

    since = _0_10


_WAIT_MS: Any = {"default": 0, "ge": 0, "le": 30_000}


class _Listing(ExactParams):
    since = _0_11
    background = True

    applicationId: ApplicationId = optional("Only those of this app.")
    limit: Whole = optional("Maximum number of entries.", default=25, ge=1, le=100)
    maxTextChars: Whole = optional("Texts are cut to this length.", default=256, ge=1, le=1_024)


class ListNotifications(_Listing):
    """List the notifications of all apps, as JSON in `data.payload`. Needs the app's notification access."""


class ListMediaSessions(_Listing):
    """List the media sessions of all apps, as JSON in `data.payload`. Needs the app's notification access."""


class DismissNotification(ExactParams):
    """Dismiss a notification. The screen must be on and unlocked."""

    since = _0_11

    notificationKey: NotificationKey = Field(description="Its key in the list of notifications.")
    waitTimeoutMs: Whole = optional("Maximum wait until it is gone, in milliseconds.", **_WAIT_MS)


class InvokeNotificationAction(ExactParams):
    """Press a button of a notification. The screen must be on and unlocked."""

    since = _0_11

    notificationKey: NotificationKey = Field(description="Its key in the list of notifications.")
    actionId: Id = Field(description="The button's id in the list of notifications.")


class GetMediaStatus(ExactParams):
    """Read the state of one media session, as JSON in `data.payload`. Needs the app's notification access."""

    since = _0_11
    background = True
    one_of = ("applicationId", "mediaSessionId")
    refused = (
        {"required": ["applicationId", "mediaSessionId"], "properties": {"applicationId": {}, "mediaSessionId": {}}},
    )

    applicationId: ApplicationId = optional("The app that plays.")
    mediaSessionId: Id = optional("The id in the list of sessions.")

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if len({"applicationId", "mediaSessionId"} & given.keys()) != 1:
            name = next(name for name, spec in ACTIONS.items() if spec is cls)
            yield problem("needed", f"{name} requires exactly one of params.applicationId and params.mediaSessionId")


class MediaPause(GetMediaStatus):
    """Pause a media session."""

    waitTimeoutMs: Whole = optional("Maximum wait for the new state, in milliseconds.", **_WAIT_MS)


class MediaPlay(MediaPause):
    """Start or resume a media session."""


class MediaSeek(MediaPause):
    """Move a media session to a position."""

    positionMs: Whole = Field(ge=0, le=2**53 - 1, description="The position in milliseconds.")
    positionToleranceMs: Whole = optional(
        "How far the reached position may be from it, in milliseconds.", default=1_000, ge=0, le=60_000
    )


class ObserveMedia(ExactParams):
    """Record changes of all media sessions for some time, as JSON in `data.payload`. Needs the app's notification access."""

    since = _0_11_1
    background = True

    durationMs: Whole = Field(ge=1, le=30_000, description="Duration in milliseconds.")


ACTIONS: Mapping[str, type[Params]] = {
    "open_app": OpenApp,
    "open_uri": OpenUri,
    "close_app": CloseApp,
    "wait_for_node": WaitForNode,
    "click": Click,
    "read_text": ReadText,
    "enter_text": EnterText,
    "snapshot_ui": SnapshotUi,
    "take_screenshot": TakeScreenshot,
    "sleep": Sleep,
    "press_key": PressKey,
    "scroll": Scroll,
    "scroll_until": ScrollUntil,
    "scroll_and_click": ScrollAndClick,
    "wait_for_navigation": WaitForNavigation,
    "read_key_value_pair": ReadKeyValuePair,
    "start_recording": StartRecording,
    "stop_recording": StopRecording,
    "query_ui": QueryUi,
    "swipe": Swipe,
    "drag": Drag,
    "show_toast": ShowToast,
    "cancel_toast": CancelToast,
    "set_on_screen_log": SetOnScreenLog,
    "clear_on_screen_log": ClearOnScreenLog,
    "list_notifications": ListNotifications,
    "dismiss_notification": DismissNotification,
    "invoke_notification_action": InvokeNotificationAction,
    "list_media_sessions": ListMediaSessions,
    "get_media_status": GetMediaStatus,
    "media_pause": MediaPause,
    "media_play": MediaPlay,
    "media_seek": MediaSeek,
    "observe_media": ObserveMedia,
}
"""The action types that callers may send, by canonical name. ``doctor_ping`` is internal and not among them."""
INPUT_ACTIONS = ("input_key", "input_text", "input_tap", "input_long_press", "input_swipe", "input_drag")
"""Steps of compositions that Android's ``input`` performs: policies name them, payloads cannot contain them."""
COMPOSITIONS = ("read_rows", "set_checked", "set_text", "submit", "wait_app", "wait_gone", "wait_text_changes")
"""Verbs of servers that are no actions of a plan, because the host decides between their steps."""

VOCABULARY: dict[str, FieldInfo] = {}
"""Every parameter name, with the field of the first action type that has it; those of actions that take no others are not shared."""
for _params in ACTIONS.values():
    if not issubclass(_params, ExactParams):
        VOCABULARY |= {name: field for name, field in _params.model_fields.items() if name not in VOCABULARY}

VALUES_SINCE: Mapping[tuple[str, str], Mapping[object, str]] = {
    ("read_text", "validator"): {"version": _0_3_2, "regex": _0_3_2},
    ("enter_text", "clear"): {True: _0_7},
}
"""Parameter values that came later than their parameter."""


@cache
def _vocabulary() -> type[Params]:
    fields: dict[str, Any] = {name: (field.rebuild_annotation(), None) for name, field in VOCABULARY.items()}
    return create_model("Vocabulary", __base__=Params, **fields)


def _word(value: object) -> str:
    return spelled(value) if isinstance(value, str) else ""
