"""Hostile strings on the screens of the console: tree, log, notices, dialogs."""

from __future__ import annotations

from clawperator.app.console.run.dispatch_dialogs import QuestionDialog
from clawperator.app.console.screens.choice_dialog import ChoiceDialog
from clawperator.app.console.screens.dialogs import ConfirmDialog
from clawperator.engine.hierarchy.serialise import hierarchy_xml
from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.models.status import Status
from tests.app.console.support import CHECKS_OK, NOON, FakeEngine, drained, until, view
from tests.app.console.test_console_journeys import console, go, text_of
from tests.hostile.strings import HOSTILE, READABLE, steering

_IN_XML = [text for text in HOSTILE if not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in text)]
"""What a dump can hold."""


def screen() -> str:
    labels = [*_IN_XML, *READABLE.values()]
    rows = [view("TextView", f"[0,{at}][1080,{at + 9}]", text=text) for at, text in enumerate(labels)]
    return hierarchy_xml(view("FrameLayout", "[0,0][1080,2340]", *rows))


async def test_the_tree() -> None:
    async with console(FakeEngine(screen=screen(), checks=CHECKS_OK)) as (app, pilot, _):
        seen = ""
        await pilot.press("space")
        for _ in range(len(_IN_XML) + len(READABLE)):
            await pilot.press("j")
            shown = text_of(app)
            assert steering(shown, spared="\n") == []
            seen += shown
    for text in ("⟨U+202E⟩", "⟨U+200B⟩", "⟨U+E0070⟩", "[bold]x[/bold]", "Größe", "إعدادات", "👩👧", "设置"):
        assert text in seen, text


async def test_the_log() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        times = enumerate(HOSTILE, int(NOON * 1e9))
        engine.log(
            [LogEntry.create(text, tag=text[:20], level="I", pid=1, tid=1, uid=1, clock=at) for at, text in times]
        )
        await pilot.press("t", "t", "t")
        await until(pilot, lambda: "etc/passwd" in text_of(app))
        for _ in range(len(HOSTILE)):
            assert steering(text_of(app), spared="\n") == []
            await pilot.press("k")


async def test_notices_and_dialogs() -> None:
    async with console() as (app, pilot, _):
        for text in HOSTILE:
            app.say(Status.FAILED, f"Failed: {text}", text[:40])
            await drained(pilot)
            assert steering(text_of(app), spared="\n") == []
        every = " ".join(text for text in HOSTILE if len(text) < 100)
        for dialog in (
            ConfirmDialog(every, every),
            QuestionDialog("x", every, "go", app.symbols),
            ChoiceDialog("x", every, [], app.symbols),
        ):
            app.push_screen(dialog)
            await until(pilot, lambda: "owned" in text_of(app))
            assert steering(text_of(app), spared="\n") == [], dialog
            app.pop_screen()
            await drained(pilot)
