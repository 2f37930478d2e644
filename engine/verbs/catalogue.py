"""The catalogue: the vocabulary of parameters, and every verb once, in the order of the contract (execution.md#actions)."""

from __future__ import annotations

from clawperator.engine.verbs import (
    MANAGES,
    MAX_DISPLAY,
    MAX_EXECUTION_TIMEOUT_MS,
    READS,
    SPARE_MS,
    Param,
    Verb,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLICK_TYPES = ("default", "long_click", "focus")
DIRECTIONS = ("down", "up", "left", "right")
KEYS = ("back", "home", "recents")
VALIDATORS = ("temperature", "version", "regex")
ROTATIONS = ("0", "90", "180", "270", "auto")
SIDES = ("left", "right")
LOG_LINES, MAX_LOG_LINES = 200, 5_000
_MAX = MAX_EXECUTION_TIMEOUT_MS
_0_3_2, _0_5, _0_9_2, _0_10, _0_11, _0_11_1, _0_11_2, _0_11_3, _0_12_5 = "0.3.2", "0.5", "0.9.2", "0.10", "0.11", "0.11.1", "0.11.2", "0.11.3", "0.12.5"  # fmt: skip

# -- the vocabulary: what each name means on all faces

# fmt: off
SELECTOR = Param("selector", "matcher", "The node: a matcher.", wire="matcher")
CONTAINER = Param("container", "matcher", "The node to scroll or look in.")
STRICT = Param("strict", "bool", "Fail if several nodes match.")
NTH = Param("nth", "int", "Take this match, from 0.", 0, 1_000_000)
WITHIN = Param("within", "matcher", "Take a match inside this node, else in its row of a list.")
POINT = Param("point", "point", "A point in pixels, instead of a node.", wire="coordinate", flag="at")
TO = Param("to", "point", "End of a swipe or drag.")
CLICK_TYPE = Param("clickType", "choice", "Click in this way.", choices=CLICK_TYPES, default="default")
APP = Param("applicationId", "package", "Package name; for open_app, also the label.", face="text", flag="app")
URI = Param("uri", "uri", "The URI to open.")
TEXT = Param("text", "text", "The text to type or to show.", face="words")
KEY = Param("key", "choice", "back, home or recents; for input_key, any key code.", choices=KEYS, face="key")
CHECKED = Param("checked", "bool", "The wanted state.", need=True)
FIELDS = Param("fields", "texts", "The fields of a row: name to resource id.", need=True)
ALL = Param("all", "bool", "Read all matching nodes.")
VALIDATOR = Param("validator", "choice", "Check that the text has this format.", choices=VALIDATORS)
PATTERN = Param("validatorPattern", "pattern", "With `regex`: it must match the whole text.", since=_0_3_2)
DIRECTION = Param("direction", "choice", "Scroll in this direction; `down` reveals content below.", choices=DIRECTIONS, default="down")
DISTANCE = Param("distanceRatio", "number", "Swipe over this share of the container.", 0.0, 1.0, default=0.7)
SETTLE = Param("settleDelayMs", "int", "Pause after each swipe, in milliseconds.", 0, 10_000, default=250)
MAX_SCROLLS = Param("maxScrolls", "int", "Maximum number of swipes.", 1, 200, default=20)
MAX_SWIPES = Param("maxSwipes", "int", "Maximum number of swipes.", 1, 50, default=10)
NO_CHANGE = Param("noPositionChangeThreshold", "int", "Number of swipes without movement that ends the search.", 1, 20, default=3)
CLICK_AFTER = Param("clickAfter", "bool", "Click the node that was found.")
DURATION = Param("durationMs", "int", "Duration of a sleep or gesture.", 0, _MAX - SPARE_MS)
TIMEOUT = Param("timeoutMs", "int", "Maximum time to wait or scroll.", 1, _MAX)
SCROLL_TIME = TIMEOUT("Maximum time in milliseconds; by default, the stock backend takes 3,000 a swipe.",
                      low=0, default=10_000, wire="maxDurationMs", flag="max-duration-ms")
APK = Param("apk", "path", "The path of an APK file on the server.", need=True)
PERMISSION = Param("permission", "text", "The name of a permission.", need=True)
KEEP_DATA = Param("keepData", "bool", "Keep the data of an app that is uninstalled.")
ROTATION = Param("rotation", "choice", "Degrees, or auto.", choices=ROTATIONS, need=True)
DISPLAY = Param("display", "int", "The id of a display in device_info; other displays than 0 take no selector.", 0, MAX_DISPLAY)
LINES = Param("lines", "int", "Maximum number of log lines.", 1, MAX_LOG_LINES, default=LOG_LINES)
NO_WAIT = Param("skipNavigationWait", "bool", "Do not wait until the app is in front.", default=False, since=_0_9_2)
NAVIGATION = Param("navigationTimeoutMs", "int", "Wait this long for the app, in milliseconds; a longer wait fails the step.",
                   1_000, _MAX, default=15_000, since=_0_9_2)
CLEAR = Param("clear", "bool", "Empty the field first, from Operator 0.7 on; the text is replaced in any case.", default=False)
LIMIT = Param("limit", "int", "Return at most this many entries.", 1, 1_000)
WAIT = Param("waitTimeoutMs", "int", "Wait this long for the new state, in milliseconds.", 0, 30_000, default=0)
NOTIFICATION = Param("notificationKey", "notification_key", "Its key in the list of notifications.", need=True, flag="key", word=True)
SESSION = Param("mediaSessionId", "id", "The media session with this id in the list of sessions.", flag="session")

# -- variants of the contract

_RETRY = Param("retry", "retry", plan=True)
_APP_NAME = APP("Android package name, such as `com.android.settings`.", need=True)
_PLAYER = APP("The media session of this app.")


def _retry(preset: str, name: str = "retry") -> Param:
    return _RETRY(f"Retry policy of this step; default: the device's preset {preset}.", name=name, wire=name)


_IGNORED_RETRY = _RETRY("Accepted and ignored.")
_READY = _retry("UiReadiness")
_IN = CONTAINER("Look only inside this node.", since=_0_10)
_STRICT = STRICT("Fail if several nodes match, instead of taking the first.", default=False, since=_0_10)
_NTH = NTH("Take the match at this position, from 0, instead of the first. The host chooses it.")
_WITHIN = WITHIN("Take a match inside this node, else in the row of a list that it is in. The host chooses it.")
_CHOICE = (_IN, _STRICT, _NTH, _WITHIN)
_CLICK_LATER = CLICK_AFTER(default=False, since=_0_3_2)
_SCROLLING = (
    CONTAINER("What to scroll; default: the first scrollable node on screen."), _STRICT, DIRECTION, DISTANCE, SETTLE,
    Param("findFirstScrollableChild", "bool", "Scroll the first scrollable node inside a container.", default=True, plan=True),
)
_RECORDING = Param("sessionId", "session", "Name of the recording.", plan=True)
_START = POINT("Start at this point, in pixels.", wire="start", need=True)
_END = TO("End at this point, in pixels; another one.", wire="end", need=True)
_GESTURE_MS = DURATION("Move for this long, in milliseconds.", low=1, high=10_000, need=True, usual=300)
_TO = TO(need=True)
_SHOWN = TEXT("The message; not blank.", kind="shown", need=True)
_SIDE = Param("anchor", "choice", "Put it on this side of the screen.", choices=SIDES, default="left")
_DP = Param("topOffsetDp", "int", "Distance from the top, in dp.", 0, 1_000, default=8)
_COLOR = Param("textColor", "color", "Color of the text, `#RRGGBB` or `#AARRGGBB`.", default="#FFFFFFFF")
_LISTING = (
    APP("Only those of this app."), LIMIT(high=100, default=25),
    Param("maxTextChars", "int", "Cut texts to this length.", 1, 1_024, default=256),
)
_GONE = WAIT("Wait this long until it is gone, in milliseconds.")
_OF_SESSION = (_PLAYER, SESSION)
_DRAWS, _SEES = "draws on the screen", "sees the events of the screen"
_HAS_ACCESS = "has access to notifications and media sessions"
_NEEDS_ACCESS = "It needs the Operator app's notification access."
_ACCESS = "`clawperator grant-device-permissions` grants it. The command works with the screen off."
_AN_APP = ("--app com.example.player",)
_UP = "--at 540,1800 --to 540,600"
_NOTIFIED: dict[str, Any] = {"since": _0_11, "exact": True, "app_only": _HAS_ACCESS, "data": ("payload",)}
_MEDIA: dict[str, Any] = {**_NOTIFIED, "background": True, "one_of": ("applicationId", "mediaSessionId")}
_LISTED: dict[str, Any] = {**_NOTIFIED, "background": True, "does": READS, "needs": ("observe",)}
_PANEL: dict[str, Any] = {"since": _0_10, "exact": True, "app_only": _DRAWS, "needs": ("navigate",)}
_TOAST: dict[str, Any] = {**_PANEL, "since": _0_11_3, "command": "toast"}
_NODE_OR_POINT = (SELECTOR, POINT)
_HELD_IN = (*_NODE_OR_POINT, DURATION, DISPLAY, CONTAINER, STRICT, NTH, WITHIN)
_INPUT: dict[str, Any] = {"of": "input", "needs": ("input",)}
_AT: dict[str, Any] = {**_INPUT, "one_of": ("selector", "point")}

_ACTIONS = (
    Verb("open_app", "Start an app. Its launcher entry is opened; from Operator 0.9.2 on, the step waits until the app is in front.",
         _APP_NAME, NO_WAIT, NAVIGATION, _retry("AppLaunch"), key="o", command="open", also=("open-uri", "open-url"), limit_ms=15_000, needs=("navigate",)),
    Verb("open_uri", "Open a URI in its app.",
         URI("The URI; any scheme.", need=True), _retry("AppLaunch"), key="u", command="open", limit_ms=15_000, needs=("navigate",)),
    Verb("close_app", "Stop an app. The host force-stops it before the whole plan runs, whatever the position in the list.",
         _APP_NAME, _IGNORED_RETRY, key="x", command="close", also=("close-app",), limit_ms=15_000, needs=("navigate",)),
    Verb("wait_for_node", "Wait until a node is on screen. It is the first one that satisfies the matcher.",
         SELECTOR("The node to wait for.", need=True), _READY, TIMEOUT("Maximum wait in milliseconds.", since=_0_5), *_CHOICE,
         key="w", command="wait", does=READS, needs=("observe",)),
    Verb("click", "Click a node or a point on the screen. Of several nodes, it is the first that satisfies the matcher; exactly one of the two is given.",
         SELECTOR("The node to click."), POINT("The point to click.", since=_0_5), *_CHOICE, CLICK_TYPE, _READY,
         key="t", command="click", also=("tap",), one_of=("selector", "point")),
    Verb("read_text", "Read a node's text. It is the label of the first node that satisfies the matcher.",
         SELECTOR("The node to read.", need=True), VALIDATOR, PATTERN("Java regular expression for the whole text, with `regex`."), ALL("Read every matching node.", default=False, since=_0_5),
         CONTAINER("Read only inside this node.", since=_0_5), _STRICT, _NTH, _WITHIN, _READY,
         key="r", command="read", does=READS, needs=("observe",), data=("text",)),
    Verb("enter_text", "Enter text into a field. It replaces what is there.",
         SELECTOR("The field to type into.", need=True), *_CHOICE, TEXT("The new text; not blank.", need=True),
         Param("submit", "bool", "Click the field again afterwards; this does not press Enter.", default=False, plan=True),
         CLEAR, _READY, key="e", command="type", also=("fill",), needs=("type_text",)),
    Verb("snapshot_ui", "Read the UI tree. It is that of the active window.",
         Param("format", "choice", "How `data.text` shows the tree; the host renders it from the device's dump. `hierarchy_xml` (default): "
               "the dump itself. `ascii`: what is on screen as indented lines, one node each, unlabelled containers folded. `json`: the whole "
               "tree as JSON text. `data.actual_format` says what the text is.", choices=("hierarchy_xml", "ascii", "json"), plan=True),
         _READY, key="n", command="snapshot", does=READS, needs=("observe",), listed=False,
         data=("view", "tree", "text", "warn", "truncated", "blind")),
    Verb("take_screenshot", "Take a screenshot. The host does it after the whole plan has run.",
         Param("path", "path", "File to write on the host; its folder must exist. Default: a new file in the folder for temporary files.",
               plan=True), _retry("None"), key="p", command="screenshot", does=READS, needs=("observe",), listed=False, data=("path",)),
    Verb("sleep", "Pause on the device.",
         DURATION("Duration in milliseconds; counts towards the execution's timeoutMs.", high=_MAX, need=True), _retry("None"),
         key="z", command="sleep", does=READS),
    Verb("press_key", "Press back, home or recents.", KEY("The key to press.", need=True), _IGNORED_RETRY, key="k", command="press", also=("press-key",), limit_ms=10_000, needs=("input",)),
    Verb("scroll", "Scroll once.", *_SCROLLING, _retry("None"), key="d", command="scroll", needs=("navigate",), data=("scroll_outcome",)),
    Verb("scroll_until", "Scroll to an end, a limit or a node.",
         *_SCROLLING, MAX_SCROLLS, SCROLL_TIME,
         NO_CHANGE, SELECTOR("Stop when this node is visible.", since=_0_3_2), _CLICK_LATER, CLICK_TYPE(since=_0_3_2),
         key="l", command="scroll-until", needs=("navigate",), data=("termination_reason", "scrolls_executed")),
    Verb("scroll_and_click", "Scroll to a node and click it. `target` and `matcher` mean the same; give one.",
         *_SCROLLING, SELECTOR("The node to look for.", wire="target", need=True),
         SELECTOR("The node to look for; another name of `target`.", plan=True), MAX_SWIPES, CLICK_AFTER(default=True), CLICK_TYPE,
         _retry("UiScroll", "scrollRetry"), _retry("UiReadiness", "clickRetry"), key="s", command="scroll-and-click", needs=("navigate",)),
    Verb("wait_for_navigation", "Wait for another app or node. It ends when the app comes to the front or the node appears, whichever is first.",
         APP("The package to wait for; it must not already be in the foreground.", kind="text", wire="expectedPackage"),
         SELECTOR("The node to wait for.", wire="expectedNode"), TIMEOUT("Maximum wait in milliseconds.", high=30_000, need=True),
         key="v", command="wait-for-nav", also=("wait-for-navigation",), does=READS, since=_0_3_2, needs=("navigate",), one_of=("applicationId", "selector"),
         data=("resolved_package",)),
    Verb("read_key_value_pair", "Read the value beside a label. Settings pages have such pairs.",
         SELECTOR("The label.", wire="labelMatcher", need=True), ALL("Accepted and ignored.", default=False, plan=True), _READY,
         key="y", command="read-value", also=("read-kv",), does=READS, since=_0_3_2, needs=("observe",), data=("label", "value")),
    Verb("start_recording", "Record what happens on the device. The recording is a file there.",
         _RECORDING("Name of the recording; default: a generated one."), key="b", command="record start", since=_0_3_2, needs=("record",),
         app_only=_SEES, listed=False),
    Verb("stop_recording", "Finish the running recording.",
         _RECORDING, key="f", command="record stop", since=_0_3_2, needs=("record",), app_only=_SEES, listed=False),
    # actions of Operator 0.10 and later: the app refuses what is not theirs
    Verb("query_ui", "List nodes with their states. The answer has those of the active window, as JSON in `data.query`.",
         SELECTOR("The nodes to list; default: all."),
         Param("visibility", "choice", "List these nodes; `all` has those off screen too.", choices=("on_screen", "all"), default="on_screen"),
         LIMIT("List at most this many nodes.", default=100),
         key="q", command="query", examples=("--role button", "--text-contains Wi --visibility all --limit 10"),
         notes="Without a selector, all nodes. It requires Operator 0.10 or newer, or --backend stock. match shows why nodes match.", does=READS, since=_0_10, needs=("observe",), exact=True, data=("query",)),
    Verb("swipe", "Move a finger from one point of the screen to another. Where the app cannot, Android's `input` does it.",
         _START, _END, _GESTURE_MS, key="g", command="swipe", since=_0_11_3, exact=True, examples=(_UP, "--at 900,800 --to 100,800 --duration-ms 200"),
         notes="The app's way requires Operator 0.11.3 or newer; the answer says which it was. scroll scrolls a container; input swipe "
               "starts at a node as well."),
    Verb("drag", "Hold a finger at a point, then move it to another one. Where the app cannot, Android's `input` does it.",
         _START, _END,
         Param("holdDurationMs", "int", "Hold for this long first, in milliseconds; `input` holds as long as a long click.",
               1, 10_000, need=True, flag="hold-ms", usual=800),
         Param("moveDurationMs", "int", "Move for this long, in milliseconds.", 1, 10_000, need=True, flag="duration-ms", usual=1_000),
         key="h", command="drag", since=_0_12_5, exact=True, examples=(_UP, f"{_UP} --hold-ms 1000 --duration-ms 500"),
         notes="The app's way requires Operator 0.12.5 or newer and Android 8; the answer says which it was."),
    Verb("show_toast", "Show a short message of the system on the screen.",
         _SHOWN, Param("duration", "choice", "How long it is shown.", choices=("short", "long"), default="short"), key="T", **_TOAST),
    Verb("cancel_toast", "Remove the message of `show_toast`.", key="X", **_TOAST),
    Verb("set_on_screen_log",
         "Show a panel with text over all apps. Touches pass through it. It is in screenshots, not in the tree.",
         _SHOWN("The text; line feeds and tabs are allowed.", need=False, word=True),
         Param("template", "shown", "Show this text, in which the app fills in placeholders.", since=_0_11_2),
         _SIDE, Param("textAlign", "choice", "Align its lines to this side.", choices=SIDES, default="left"),
         _DP, Param("edgeOffsetDp", "int", "Distance from the side, in dp.", 0, 1_000, default=8),
         Param("widthDp", "int", "Width in dp.", 80, 600, default=280),
         Param("fontSizeSp", "int", "Size of the text in sp.", 8, 24, default=12),
         _COLOR, Param("backgroundColor", "color", "Color of the panel, `#RRGGBB` or `#AARRGGBB`.", default="#B3000000"),
         Param("ttlMs", "int", "Remove it after this time, in milliseconds.", 1_000, 3_600_000, default=300_000),
         key="O", command="on-screen-log set", examples=("'Order 17: paying'", "'Step 3' --anchor right --top-offset-dp 40 --ttl-ms 60000"),
         one_of=("text", "template"), data=("bounds", "truncated"), **_PANEL),
    Verb("clear_on_screen_log", "Remove the panel with text, if there is one.", key="C", command="on-screen-log clear", **_PANEL),
    Verb("list_notifications", f"List the notifications of all apps. The answer is JSON in `data.payload`. {_NEEDS_ACCESS}",
         *_LISTING, key="N", command="notifications list", notes=_ACCESS, examples=("", "--app com.example.chat --limit 5"), **_LISTED),
    Verb("dismiss_notification", "Dismiss a notification. The screen must be on and unlocked.",
         NOTIFICATION, _GONE, key="D", command="notifications dismiss", examples=("'0|com.example.chat|7|null|10123'",), needs=("click",), **_NOTIFIED),
    Verb("invoke_notification_action", "Press a button of a notification. The screen must be on and unlocked.",
         NOTIFICATION, Param("actionId", "id", "The button's id in the list of notifications.", need=True, flag="action", word=True),
         key="I", command="notifications action", examples=("'0|com.example.chat|7|null|10123' reply",), needs=("click",), **_NOTIFIED),
    Verb("list_media_sessions", f"List the media sessions of all apps. The answer is JSON in `data.payload`. {_NEEDS_ACCESS}",
         *_LISTING, key="M", command="media list", notes=_ACCESS, examples=("", *_AN_APP), **_LISTED),
    Verb("get_media_status", f"Read the state of a media session. The answer is JSON in `data.payload`. {_NEEDS_ACCESS}",
         *_OF_SESSION, key="S", command="media status", notes=_ACCESS, examples=(*_AN_APP, "--session session-1"), does=READS, needs=("observe",), **_MEDIA),
    Verb("media_pause", f"Pause a media session. {_NEEDS_ACCESS}", *_OF_SESSION, WAIT, key="P", command="media pause", notes=_ACCESS, examples=_AN_APP, needs=("click",), **_MEDIA),
    Verb("media_play", f"Start or resume a media session. {_NEEDS_ACCESS}", *_OF_SESSION, WAIT, key="L", command="media play", notes=_ACCESS, examples=_AN_APP, needs=("click",), **_MEDIA),
    Verb("media_seek", f"Move a media session to a position. {_NEEDS_ACCESS}",
         *_OF_SESSION, WAIT, Param("positionMs", "int", "The position in milliseconds.", 0, 2**53 - 1, need=True, flag="ms", word=True),
         Param("positionToleranceMs", "int", "Accept a position this far from it, in milliseconds.", 0, 60_000, default=1_000,
               flag="tolerance-ms"),
         key="K", command="media seek", notes=_ACCESS, examples=("60000 --app com.example.player",), needs=("click",), **_MEDIA),
    Verb("observe_media", f"Record changes of media sessions for some time. The answer is JSON in `data.payload`. {_NEEDS_ACCESS}",
         DURATION("Observe for this long, in milliseconds.", low=1, high=30_000, need=True, usual=5_000), key="W", command="media observe", notes=_ACCESS,
         examples=("--duration-ms 10000",), **{**_LISTED, "since": _0_11_1}),
)
_OTHERS = (
    Verb("set_checked", "Switch a node on or off, only if it differs, and verify.", SELECTOR(need=True), CHECKED,
         of="composition", command="set"),
    Verb("set_text", "Set a field's text, only if it differs, and verify.", SELECTOR(need=True), TEXT(need=True),
         of="composition", command="set"),
    Verb("submit", "Press Enter in the focused field, and verify that something changed.", SELECTOR, TEXT,
         of="composition", command="submit"),
    Verb("read_rows", "Read the rows of a list.", CONTAINER(need=True), FIELDS, of="composition", command="read --rows", does=READS),
    Verb("wait_gone", "Wait until no node matches.", SELECTOR(need=True), TIMEOUT, of="composition", command="wait --gone", does=READS),
    Verb("wait_text_changes", "Wait until the first match has another text.", SELECTOR(need=True), TIMEOUT,
         of="composition", command="wait --text-changes", does=READS),
    Verb("wait_app", "Wait until an app is in front.", APP(need=True), TIMEOUT, of="composition", command="wait --app", does=READS),
    Verb("input_key", "Press any key through Android's input.", KEY(need=True), DISPLAY, command="input key", **_INPUT),
    Verb("input_text", "Type into the focused field through Android's input.", TEXT(need=True), DISPLAY, command="input text", **_INPUT),
    Verb("input_tap", "Tap a node or a point through Android's input.",
         *(param for param in _HELD_IN if param is not DURATION), command="input tap", **_AT),
    Verb("input_long_press", "Hold a node or a point through Android's input.", *_HELD_IN, command="input long-press", **_AT),
    Verb("input_swipe", "Swipe from a node or a point through Android's input.", _TO, *_HELD_IN, command="input swipe", **_AT),
    Verb("input_drag", "Drag from a node or a point through Android's input.", _TO, *_HELD_IN, command="input drag", **_AT),
    Verb("app_install", "Install or update an app from an APK file.", APK, of="device", does=MANAGES, command="app install"),
    Verb("app_uninstall", "Uninstall an app.", APP(need=True), KEEP_DATA, of="device", does=MANAGES, command="app uninstall"),
    Verb("app_clear", "Delete the data of an app.", APP(need=True), of="device", does=MANAGES, command="app clear"),
    Verb("app_grant", "Grant an app a permission.", APP(need=True), PERMISSION, of="device", does=MANAGES, command="app permissions"),
    Verb("app_revoke", "Revoke a permission of an app.", APP(need=True), PERMISSION, of="device", does=MANAGES, command="app permissions"),
    Verb("device_info", "Show model, Android version, screen, the app in front, and how to unlock it.",
         of="device", does=READS, command="device info"),
    Verb("device_rotate", "Fix the rotation of the screen, or leave it to the sensor.", ROTATION, of="device", does=MANAGES, command="device rotate"),
    Verb("device_wake", "Switch the screen on.", of="device", command="device wake"),
    Verb("device_logs", "Show the last lines of the device's log.", LINES, APP, of="device", does=READS, command="device logs"),
)
# fmt: on
VERBS: dict[str, Verb] = {verb.name: verb for verb in (*_ACTIONS, *_OTHERS)}
"""By name. ``listed`` ones are verbs of servers; the others are actions of plans only."""
VALUES_SINCE: dict[tuple[str, str], dict[object, str]] = {
    ("read_text", "validator"): {"version": _0_3_2, "regex": _0_3_2},
    ("enter_text", "clear"): {True: "0.7"},
}
"""Parameter values that came later than their parameter."""


def named(**facts: object) -> tuple[str, ...]:
    """Return the names of the verbs with these facts, in order."""
    return tuple(name for name, verb in VERBS.items() if all(getattr(verb, key) == fact for key, fact in facts.items()))
