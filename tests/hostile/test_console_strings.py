"""Hostile strings on the screens of the console: tree, log, history, skills, doctor, notices, dialogs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawperator.app.console.screens.dialogs import ConfirmDialog
from clawperator.app.console.screens.forms import QuestionDialog
from clawperator.app.console.screens.menu import ChoiceDialog
from clawperator.engine.hierarchy.serialise import hierarchy_xml
from clawperator.engine.history.records import LineRecord
from clawperator.engine.history.store import History
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.skills.describe import SkillArtifact, SkillDetails, SkillInput
from clawperator.engine.skills.lint import Finding
from clawperator.widgets.models.status import Status
from tests.app.console import skills_mode, test_doctor_screen, test_history_screen
from tests.app.console.fake_skills import PRICE, FakeLibrary
from tests.app.console.support import CHECKS_OK, NOON, FakeEngine, check, drained, until, view
from tests.app.console.test_console_journeys import console, go, text_of
from tests.hostile.strings import HOSTILE, READABLE, steering
from tests.past_runs import a_run, put

_IN_XML = [text for text in HOSTILE if not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in text)]
"""What a dump can hold."""


def screen() -> str:
    labels = [*_IN_XML, *READABLE.values()]
    rows = [view("TextView", f"[0,{at}][1080,{at + 9}]", text=text) for at, text in enumerate(labels)]
    return hierarchy_xml(view("FrameLayout", "[0,0][1080,2340]", *rows))


async def test_the_tree() -> None:
    async with console(FakeEngine(screen=screen(), checks=CHECKS_OK)) as (app, pilot, _):
        seen = ""
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
            QuestionDialog("x", every, "go"),
            ChoiceDialog("x", every, []),
        ):
            app.push_screen(dialog)
            await until(pilot, lambda: "owned" in text_of(app))
            assert steering(text_of(app), spared="\n") == [], dialog
            app.pop_screen()
            await drained(pilot)


WIDE = (200, 60)


@pytest.mark.ci
@pytest.mark.timeout(400)
async def test_the_history(tmp_path: Path) -> None:
    """Each string in every text of a run: its row, its steps, its log and what belongs to its trees."""
    names = ("command_id", "task_id", "source", "mode", "backend", "code", "package")
    with History.open(str(tmp_path / "history.db")) as history:
        for number, text in enumerate(HOSTILE, 1):
            named: dict[str, Any] = dict.fromkeys(names, text)
            record, texts = a_run(number, trees=(screen(),), at=NOON - number, device_id=text, **named)
            steps = tuple(
                step._replace(id=f"{text}{step.position}", type=text, code=text, data={text: text})
                for step in record.steps
            )
            put(
                history,
                (
                    record._replace(
                        steps=steps,
                        message=text,
                        warnings=({"code": text, "message": text},),
                        envelope={"stepResults": [], "error": text, text: text},
                        lines=(
                            *record.lines,
                            LineRecord(NOON + 2, text, text),
                            LineRecord(NOON + 2, "stage-retry", text),
                        ),
                        trees=tuple(tree._replace(step_id=text) for tree in record.trees),
                    ),
                    texts,
                ),
            )
    async with test_history_screen.console(tmp_path / "history.db", size=WIDE) as (app, pilot, shown):
        for _ in HOSTILE:
            for keys in (
                ("space", "enter"),
                ("l", "l", "l"),
                ("comma", "comma", "comma"),
                ("escape", "escape"),
                ("j",),
            ):
                await test_history_screen.press(pilot, shown, *keys)
                assert steering(text_of(app), spared="\n") == []


@pytest.mark.ci
async def test_the_skills() -> None:
    """Each string as a skill's id, texts, artifact, findings and output; one of them runs."""
    entries, cards = [], {}
    for text in HOSTILE:
        field = SkillInput(text, "enum", default=text, values=(text, "x"), required=True)
        artifact = SkillArtifact(name=text, about=text, inputs=(field,), capabilities=(text,), app=text)
        entries.append(
            {**PRICE, "id": text, "applicationId": text, "intent": text, "summary": text, "keywords": [text],
             "artifacts": [f"{text}.recipe.md"], "scripts": [text]}
        )  # fmt: skip
        cards[text] = SkillDetails(skill_id=text, text=f"# {text}\n\n{text}", artifacts=(artifact,), profile=text)
    library = FakeLibrary(
        entries=entries,
        cards=cards,
        lints=tuple(Finding(text, 1, text, "error", text) for text in HOSTILE),
        printed=[(stream, text, 0.1) for text in HOSTILE for stream in ("stdout", "stderr")]
        + [("stdout", f"RESULT|{text}={text}", 0.2) for text in HOSTILE],
    )
    async with skills_mode.skills_mode(library, size=WIDE) as (app, pilot, _):
        for text in HOSTILE:
            await skills_mode.to_skill(app, pilot, text)
            assert steering(text_of(app), spared="\n") == []
        await skills_mode.press(pilot, "R")
        await skills_mode.form_of(app, pilot)
        assert steering(text_of(app), spared="\n") == []
        await skills_mode.press(pilot, "enter")
        await until(pilot, lambda: app.session.skills.run is not None and not app.session.skills.run.running)
        for key in ("v", "y", *("j" for _ in HOSTILE)):
            await skills_mode.press(pilot, key)
            assert steering(text_of(app), spared="\n") == []


@pytest.mark.ci
async def test_the_doctor() -> None:
    """Each string in every text of a check, and as what a fix printed."""
    checks = [
        check(
            f"readiness.{number}{text[:40]}", "fail", text, code=text, detail=text, evidence={text: [text]},
            fix={"title": text, "platform": "any", "steps": [{"kind": "shell", "value": text}]},
            deviceGuidance={"screen": text, "steps": [text]},
        )
        for number, text in enumerate(HOSTILE)
    ]  # fmt: skip
    engine = test_doctor_screen.off(fix_output="\n".join(HOSTILE))
    engine.checks, engine.check_ids, engine.fixed = [*engine.checks, *checks], (), ()
    async with test_doctor_screen.doctor(engine, size=WIDE) as (app, pilot, _):
        for _ in range(len(checks) + 3):
            assert steering(text_of(app), spared="\n") == []
            await pilot.press("right_square_bracket")
            await drained(pilot)
        await pilot.press("F")
        await drained(pilot)
        assert steering(text_of(app), spared="\n") == []
        await pilot.press("enter")
        await until(pilot, lambda: test_doctor_screen.said(app).startswith("The fix ran"))
        await test_doctor_screen.idle(app, pilot)
        assert steering(text_of(app), spared="\n") == []
