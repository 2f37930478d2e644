"""Queries, gestures, toasts, the on-screen log, notifications and media sessions: one action of Operator 0.10 and later each."""

from __future__ import annotations

from clawperator.app.cli.command import Options
from clawperator.app.cli.commands.action import Action
from clawperator.app.cli.flat_profile import Flat
from clawperator.app.cli.parsing.common_flags import RESULT_FLAGS
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.selectors import SELECTOR_FLAGS, selector
from clawperator.app.cli.parsing.values import integer, invalid
from clawperator.engine.executions import build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clawperator.app.cli.parsing.flags import Declared

_SIDES = ("left", "right")
_APP = Flag("--app", "<packageId>", "only those of this app")
_LIMIT = Flag("--limit", "<n>", "return at most n entries, 1 to 100 [25]", bounds=(1, 100))
_TEXT_CHARS = Flag("--max-text-chars", "<n>", "cut texts to this length, 1 to 1024 [256]", bounds=(1, 1_024))
_WAIT = Flag("--wait-timeout-ms", "<ms>", "wait for the effect, 0 to 30000 [0]", bounds=(0, 30_000))
_SESSION = (
    Flag("--app", "<packageId>", "the media session of this app"),
    Flag("--session", "<id>", "the media session with this id, as media list shows it"),
)
_ACCESS = "It needs the Operator app's notification access: `clawperator grant-device-permissions`. It works with the screen off."


class AppAction(Flat, Action):
    """Base: ``kind`` is the action type, ``wire`` has the parameter of each flag and argument, ``needs`` what must be given."""

    kind = ""
    wire: tuple[tuple[str, str], ...] = ()
    needs: tuple[tuple[str, str], ...] = ()

    def payload(self, options: Options) -> dict[str, Any]:
        for dest, what in self.needs:
            if getattr(options, dest) is None:
                raise self.missing(what)
        given = {name: getattr(options, dest) for dest, name in self.wire}
        return build.action(self.kind, given | self.more(options))

    def more(self, options: Options) -> dict[str, Any]:  # noqa: ARG002 -- for subclasses
        """Return further parameters; ``None`` where nothing was given."""
        return {}


class Query(AppAction):
    kind = "query_ui"
    usage = "[<selector>] [--visibility on_screen|all] [--limit <n>] [options]"
    notes = (
        "Lists nodes with their states as the device sees them, as JSON in data.query; without a selector, all nodes.\n"
        "It requires Operator 0.10 or newer, or --backend stock. match shows why nodes match."
    )
    examples = ("--role button", "--text-contains Wi --visibility all --limit 10")
    flags = (
        *SELECTOR_FLAGS,
        Flag("--visibility", "<which>", "list nodes on screen, or all [on_screen]", choices=("on_screen", "all")),
        Flag("--limit", "<n>", "list at most n nodes, 1 to 1000 [100]", bounds=(1, 1_000)),
        *RESULT_FLAGS,
    )
    wire = (("visibility", "visibility"), ("limit", "limit"))

    def more(self, options: Options) -> dict[str, Any]:
        return {"matcher": selector(options)}


_POINTS = (
    Flag("--at", "<x>,<y>", "start at this point, in pixels"),
    Flag("--to", "<x>,<y>", "end at this point, in pixels"),
)


class Swipe(AppAction):
    kind = "swipe"
    usage = "--at <x>,<y> --to <x>,<y> [--duration-ms <ms>] [options]"
    notes = (
        "The Operator app does it where it can, which requires Operator 0.11.3 or newer; else Android's input does, and the answer\n"
        "says so. scroll scrolls a container; input swipe starts at a node as well."
    )
    examples = ("--at 540,1800 --to 540,600", "--at 900,800 --to 100,800 --duration-ms 200")
    needs = (("at", "--at <x>,<y>"), ("to", "--to <x>,<y>"))
    flags: tuple[Declared, ...] = (
        *_POINTS,
        Flag("--duration-ms", "<ms>", "move for this long, 1 to 10000 [300]", bounds=(1, 10_000)),
        *RESULT_FLAGS,
    )

    def more(self, options: Options) -> dict[str, Any]:
        from clawperator.engine.hierarchy.queries import read_point

        ends = {"start": read_point(options.at, "--at"), "end": read_point(options.to, "--to")}
        return {name: dict(zip("xy", point, strict=True)) for name, point in ends.items()} | self.times(options)

    def times(self, options: Options) -> dict[str, int]:
        return {"durationMs": options.duration_ms or 300}


class Drag(Swipe):
    kind = "drag"
    usage = "--at <x>,<y> --to <x>,<y> [--hold-ms <ms>] [--duration-ms <ms>] [options]"
    notes = (
        "Holds, then moves. The Operator app does it where it can, which requires Operator 0.12.5 or newer and Android 8; else\n"
        "Android's input does, which holds as long as a long click takes, and the answer says so."
    )
    examples = ("--at 540,1800 --to 540,600", "--at 540,1800 --to 540,600 --hold-ms 1000 --duration-ms 500")
    flags = (
        *_POINTS,
        Flag("--hold-ms", "<ms>", "hold for this long first, 1 to 10000 [800]", bounds=(1, 10_000)),
        Flag("--duration-ms", "<ms>", "move for this long, 1 to 10000 [1000]", bounds=(1, 10_000)),
        *RESULT_FLAGS,
    )

    def times(self, options: Options) -> dict[str, int]:
        return {"holdDurationMs": options.hold_ms or 800, "moveDurationMs": options.duration_ms or 1_000}


class Toast(AppAction):
    usage = "(<text> [--long] | --cancel) [options]"
    notes = "Shows a short message of the system on the screen. It requires Operator 0.11.3 or newer."
    examples = ("'Step 3 of 5'", "'Done' --long", "--cancel")
    flags = (
        Word("words", "text to show"),
        switch("--long", "show it longer"),
        switch("--cancel", "remove the message"),
        *RESULT_FLAGS,
    )

    def payload(self, options: Options) -> dict[str, Any]:
        if options.cancel:
            if options.words is not None or options.long:
                raise invalid("use a text OR --cancel, not both")
            return build.action("cancel_toast", {})
        text = self.argument("the text", options.words)
        return build.action("show_toast", {"text": text, "duration": "long" if options.long else None})


class SetOnScreenLog(AppAction):
    kind = "set_on_screen_log"
    usage = "(<text> | --template <text>) [options]"
    notes = (
        "Shows a panel over all apps, until it is cleared or its time is over. Touches pass through it; screenshots show it, trees do\n"
        "not. It requires Operator 0.10 or newer; --template requires Operator 0.11.2 or newer."
    )
    examples = ("'Order 17: paying'", "'Step 3' --anchor right --top-offset-dp 40 --ttl-ms 60000")
    flags = (
        Word("words", "text to show; line feeds are allowed"),
        Flag("--template", "<text>", "show this text, in which the app fills in placeholders"),
        Flag("--anchor", "<side>", "put it on this side: left or right [left]", choices=_SIDES),
        Flag("--text-align", "<side>", "align its lines: left or right [left]", choices=_SIDES),
        Flag("--top-offset-dp", "<dp>", "distance from the top, 0 to 1000 [8]", bounds=(0, 1_000)),
        Flag("--edge-offset-dp", "<dp>", "distance from the side, 0 to 1000 [8]", bounds=(0, 1_000)),
        Flag("--width-dp", "<dp>", "width, 80 to 600 [280]", bounds=(80, 600)),
        Flag("--font-size-sp", "<sp>", "size of the text, 8 to 24 [12]", bounds=(8, 24)),
        Flag("--text-color", "<color>", "color of the text, #RRGGBB or #AARRGGBB [#FFFFFFFF]"),
        Flag("--background-color", "<color>", "color of the panel, #RRGGBB or #AARRGGBB [#B3000000]"),
        Flag("--ttl-ms", "<ms>", "remove it after this time, 1000 to 3600000 [300000]", bounds=(1_000, 3_600_000)),
        *RESULT_FLAGS,
    )
    wire = (
        ("words", "text"),
        ("template", "template"),
        ("anchor", "anchor"),
        ("text_align", "textAlign"),
        ("top_offset_dp", "topOffsetDp"),
        ("edge_offset_dp", "edgeOffsetDp"),
        ("width_dp", "widthDp"),
        ("font_size_sp", "fontSizeSp"),
        ("text_color", "textColor"),
        ("background_color", "backgroundColor"),
        ("ttl_ms", "ttlMs"),
    )

    def payload(self, options: Options) -> dict[str, Any]:
        self.argument("the text", options.words, template=options.template)
        return super().payload(options)


class ClearOnScreenLog(AppAction):
    kind = "clear_on_screen_log"
    notes = "Succeeds also where there is no panel. It requires Operator 0.10 or newer."
    examples = ("",)
    flags = RESULT_FLAGS


class ListNotifications(AppAction):
    kind = "list_notifications"
    notes = f"Returns JSON in data.payload. {_ACCESS}\nIt requires Operator 0.11 or newer."
    examples: tuple[str, ...] = ("", "--app com.example.chat --limit 5")
    flags = (_APP, _LIMIT, _TEXT_CHARS, *RESULT_FLAGS)
    wire = (("app", "applicationId"), ("limit", "limit"), ("max_text_chars", "maxTextChars"))


class DismissNotification(AppAction):
    kind = "dismiss_notification"
    usage = "<key> [--wait-timeout-ms <ms>] [options]"
    notes = "The screen must be on and unlocked. It requires Operator 0.11 or newer."
    examples = ("'0|com.example.chat|7|null|10123'",)
    needs = (("key", "<key>"),)
    flags = (Word("key", "key of the notification, as notifications list shows it"), _WAIT, *RESULT_FLAGS)
    wire = (("key", "notificationKey"), ("wait_timeout_ms", "waitTimeoutMs"))


class InvokeNotificationAction(AppAction):
    kind = "invoke_notification_action"
    usage = "<key> <action> [options]"
    notes = (
        "Presses a button of the notification. The screen must be on and unlocked. It requires Operator 0.11 or newer."
    )
    examples = ("'0|com.example.chat|7|null|10123' reply",)
    needs = (("key", "<key> and <action>"), ("button", "<key> and <action>"))
    flags = (
        Word("key", "key of the notification, as notifications list shows it"),
        Word("button", "id of its action, as notifications list shows it"),
        *RESULT_FLAGS,
    )
    wire = (("key", "notificationKey"), ("button", "actionId"))


class ListMedia(ListNotifications):
    kind = "list_media_sessions"
    examples = ("", "--app com.example.player")


class MediaStatus(AppAction):
    kind = "get_media_status"
    usage = "(--app <packageId> | --session <id>) [options]"
    notes = f"Returns JSON in data.payload. {_ACCESS}\nIt requires Operator 0.11 or newer."
    examples: tuple[str, ...] = ("--app com.example.player", "--session session-1")
    flags: tuple[Declared, ...] = (*_SESSION, *RESULT_FLAGS)
    wire: tuple[tuple[str, str], ...] = (("app", "applicationId"), ("session", "mediaSessionId"))

    def payload(self, options: Options) -> dict[str, Any]:
        if (options.app is None) == (options.session is None):
            raise self.usage_error(f"{self.words} requires either --app or --session")
        return super().payload(options)


class MediaPause(MediaStatus):
    kind = "media_pause"
    usage = "(--app <packageId> | --session <id>) [--wait-timeout-ms <ms>] [options]"
    flags: tuple[Declared, ...] = (*_SESSION, _WAIT, *RESULT_FLAGS)
    wire: tuple[tuple[str, str], ...] = (*MediaStatus.wire, ("wait_timeout_ms", "waitTimeoutMs"))


class MediaPlay(MediaPause):
    kind = "media_play"


class MediaSeek(MediaPause):
    kind = "media_seek"
    usage = "<ms> (--app <packageId> | --session <id>) [options]"
    examples = ("60000 --app com.example.player",)
    needs = (("ms", "<ms>"),)
    flags = (
        Word("ms", "position in milliseconds"),
        *_SESSION,
        Flag("--tolerance-ms", "<ms>", "accept a position this far from it, 0 to 60000 [1000]", bounds=(0, 60_000)),
        _WAIT,
        *RESULT_FLAGS,
    )
    wire = (*MediaPause.wire, ("tolerance_ms", "positionToleranceMs"))

    def more(self, options: Options) -> dict[str, Any]:
        return {"positionMs": integer("media seek <ms>", options.ms, 0, 2**53 - 1)}


class ObserveMedia(AppAction):
    kind = "observe_media"
    usage = "[--duration-ms <ms>] [options]"
    notes = f"Records changes of all media sessions, as JSON in data.payload. {_ACCESS}\nIt requires Operator 0.11.1 or newer."
    examples = ("--duration-ms 10000",)
    flags = (
        Flag("--duration-ms", "<ms>", "observe for this long, 1 to 30000 [5000]", bounds=(1, 30_000)),
        *RESULT_FLAGS,
    )

    def more(self, options: Options) -> dict[str, Any]:
        return {"durationMs": options.duration_ms or 5_000}
