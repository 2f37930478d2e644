"""Mode 5: the list and its search, the card, the registry, and what hostile skills do to it."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from clawperator.app.console.navigation import SkillPlace
from clawperator.app.console.screens.forms import Form
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.describe import SkillDetails, SkillIssue
from clawperator.widgets.models.skills import BUILTIN
from clawperator.widgets.skill_output import FindingList, SkillOutput
from tests.app.console.fake_skills import ALERT, FINDINGS, PAST, PRICE, SETTINGS, FakeLibrary
from tests.app.console.skills_mode import SIZES, form_of, list_of, notice, press, shown, skills_mode, to_skill
from tests.app.console.support import FakeClipboard, drained, until

# -- lint and draft


@SIZES
async def test_lint_shows_what_it_found(size: tuple[int, int]) -> None:
    async with skills_mode(FakeLibrary(lints=FINDINGS), size=size) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "v")
        await until(pilot, lambda: "L-NO-WAIT-AFTER-OPEN" in shown(app))
        await until(pilot, lambda: "1 error, 1 warning, 1 info" in notice(app))
        app.screen.set_focus(app.screen.query_one("#findings", FindingList))
        await press(pilot, "y", "l")
        assert isinstance(app.system_clipboard, FakeClipboard)
        texts = app.system_clipboard.texts
        await until(pilot, lambda: texts)
        assert texts[0].startswith("skills/com.example.shop.read-price/SKILL.md:9: error L-LITERAL-EMAIL")


async def test_a_skill_that_keeps_the_rules() -> None:
    async with skills_mode(FakeLibrary()) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "v")
        await until(pilot, lambda: "No findings" in shown(app))


async def test_lint_that_cannot_look_says_why() -> None:
    trouble = EngineError(ErrorCode.REGISTRY_READ_FAILED, "The folder of the skill is missing")
    async with skills_mode(FakeLibrary(lints=trouble)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "v")
        await until(pilot, lambda: "could not be checked" in notice(app))
        assert "The folder of the skill is missing" in shown(app)


async def test_files_open_in_the_user_s_own_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported, editor = tmp_path / "told", tmp_path / "vim"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(reported)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"
    )
    editor.chmod(0o700)
    library = FakeLibrary(lints=FINDINGS)
    async with skills_mode(library) as (app, pilot, _):

        async def opened(count: int) -> str:
            await until(pilot, lambda: reported.exists() and reported.read_text().count("\n") == count)
            return reported.read_text().splitlines()[-1]

        await to_skill(app, pilot, PRICE["id"])
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.delenv("EDITOR", raising=False)
        await press(pilot, "E")
        assert "No editor is named: set EDITOR" in notice(app)
        monkeypatch.setenv("EDITOR", str(editor))
        await press(pilot, "E")
        await until(pilot, lambda: "cannot run an editor" in notice(app))
        monkeypatch.setattr(app, "suspend", nullcontext)
        await press(pilot, "E")
        assert await opened(1) == f"/skills/{PRICE['artifacts'][0]}"
        await press(pilot, "v")
        await until(pilot, lambda: "L-LITERAL-EMAIL" in shown(app))
        app.screen.set_focus(app.screen.query_one("#findings", FindingList))
        await press(pilot, "E")
        assert await opened(2) == f"+9 /skills/{PRICE['skillFile']}"
        app.screen.set_focus(list_of(app))
        await to_skill(app, pilot, ALERT["id"])
        await press(pilot, "E")
        assert await opened(3) == f"/skills/{ALERT['skillFile']}", "it has no recipe"
        monkeypatch.setenv("EDITOR", "/nowhere/at/all")
        await press(pilot, "E")
        await until(pilot, lambda: "The editor failed: No such file" in notice(app))


async def test_files_that_are_none_or_lie_elsewhere_are_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/bin/false")
    bare = {**ALERT, "skillFile": ""}
    escaping = {**PRICE, "artifacts": ["../../etc/price.recipe.md"]}
    async with skills_mode(FakeLibrary(entries=(bare, escaping))) as (app, pilot, _):
        await to_skill(app, pilot, ALERT["id"])
        await press(pilot, "E")
        assert "has neither a recipe nor a SKILL.md" in notice(app)
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "E")
        await until(pilot, lambda: "is outside of the registry's folder" in notice(app))
        assert app.session.last_notice is not None
        assert app.session.last_notice.code == "REGISTRY_READ_FAILED"


async def test_what_comes_along_is_not_edited() -> None:
    async with skills_mode(FakeLibrary(source=BUILTIN)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "E")
        assert "Run: clawperator skills new" in notice(app)


async def test_an_artifact_becomes_the_draft() -> None:
    library = FakeLibrary()
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "i")
        form = await form_of(app, pilot)
        assert "arguments" not in [row.field.name for row in form.rows]
        await press(pilot, *"Milk")
        await until(pilot, lambda: 'text~"Milk"' in shown(app))
        await press(pilot, "enter")
        await until(pilot, lambda: len(app.drafts.draft) == 3)
        assert app.drafts.name == PRICE["id"]
        assert json.loads(app.drafts.draft.text)["actions"][2]["params"]["matcher"] == {"textContains": "Milk"}
        await until(pilot, lambda: "compiled price.recipe.md" in library.calls)  # the audit knows
        assert "3 steps of com.example.shop.read-price are now the draft" in notice(app)


async def test_a_draft_of_several_executions_says_which_one_it_is() -> None:
    async with skills_mode(FakeLibrary(parts=3, chooses=True)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "i")
        await form_of(app, pilot)
        await press(pilot, *"Milk", "enter")
        await until(pilot, lambda: len(app.drafts.draft) == 3)
        assert "This is execution 1 of 3; R runs them all" in notice(app)
        assert "needs a selector: the recipe chooses its node when it runs" in notice(app)


async def test_a_skill_without_artifacts_has_nothing_to_compile() -> None:
    async with skills_mode(FakeLibrary()) as (app, pilot, _):
        await to_skill(app, pilot, ALERT["id"])
        await press(pilot, "i")
        await drained(pilot)
        assert "has no artifact" in notice(app)


# -- the registry


async def test_the_skills_that_come_along_are_called_so() -> None:
    none = SkillIssue("No registry is installed.", "REGISTRY_READ_FAILED", "Press U to fetch the repository's skills.")
    async with skills_mode(FakeLibrary(source=BUILTIN, trouble=none)) as (app, _, _):
        assert "built-in skills" in shown(app)
        assert "No registry is installed" in shown(app)


async def test_a_broken_registry_says_why_and_how_on() -> None:
    broken = EngineError(
        ErrorCode.REGISTRY_READ_FAILED,
        "Cannot read the skills registry /x/skills-registry.json: Expecting value at line 3, column 1",
        hint="Run `clawperator skills install`.",
    )
    async with skills_mode(FakeLibrary(find_error=broken), size=(80, 24)) as (app, pilot, _):

        def text() -> str:
            return " ".join(shown(app).split())

        await until(pilot, lambda: "at line 3, column 1 (REGISTRY_READ_FAILED)" in text())
        assert "U fetches the repository's skills" in text()
        await press(pilot, "R", "v", "i")
        await drained(pilot)
        assert "No skill under the cursor" in notice(app)


async def test_a_registry_that_changes_is_read_again() -> None:
    library = FakeLibrary()
    async with skills_mode(library) as (app, pilot, _):
        library.entries = library.entries[:2]
        await press(pilot, "r")
        await until(pilot, lambda: len(list_of(app).shown) == 2)


async def test_fetching_asks_for_the_ref_and_tells_the_commit() -> None:
    library = FakeLibrary()
    async with skills_mode(library) as (app, pilot, _):
        await press(pilot, "U")
        await until(pilot, lambda: isinstance(app.screen, Form))
        await press(pilot, "ctrl+u", *"--evil", "enter")
        await drained(pilot)
        assert isinstance(app.screen, Form)
        await press(pilot, "ctrl+u", *"v1.2", "enter")
        await until(pilot, lambda: "sync v1.2" in library.calls)
        await until(pilot, lambda: "The skills are at v1.2 (abc1234def56)" in notice(app))
        await until(pilot, lambda: library.calls.count("find") == 2)


@pytest.mark.ci
async def test_fetching_can_be_cancelled() -> None:
    library = FakeLibrary(hold=asyncio.Event())
    async with skills_mode(library) as (app, pilot, _):
        await press(pilot, "U", "enter")
        await until(pilot, lambda: app.skills.syncing is not None)
        await until(pilot, lambda: "fetch" in shown(app).splitlines()[-3])
        await press(pilot, "C")
        await until(pilot, lambda: app.skills.syncing is None)
        assert "The skills are unchanged" in notice(app)


async def test_last_results_come_from_the_history() -> None:
    async with skills_mode(FakeLibrary(past=PAST)) as (app, pilot, _):
        await until(pilot, lambda: app.session.skills.results)
        await drained(pilot)
        text = shown(app)
        assert "✗ 1 h" in text
        assert "✓ 2 d" in text
        await press(pilot, "right_square_bracket")
        assert list_of(app).skill is not None
        assert list_of(app).skill.id == PRICE["id"]  # type: ignore[union-attr]


# -- more


@pytest.mark.ci
async def test_hostile_skills_stay_text() -> None:
    name = "[red]x[/] \x1b]0;owned\x07 \u202egpj"
    entry = {**PRICE, "id": name, "applicationId": name, "summary": name, "artifacts": [f"{name}.recipe.md"]}
    cards = {name: SkillDetails(skill_id=name, text=f"# {name}\n{name}", profile=name)}
    printed = (("stdout", f"RESULT|{name}={name}", 0.1), ("stderr", name, 0.2))
    library = FakeLibrary(entries=(entry,), cards=cards, printed=printed)
    async with skills_mode(library, size=(200, 60)) as (app, pilot, _):
        await press(pilot, "R")
        await form_of(app, pilot)
        assert "\x1b" not in shown(app)
        await press(pilot, "enter")
        await until(pilot, lambda: app.session.skills.run is not None and not app.session.skills.run.running)
        await press(pilot, "v", "y")
        await drained(pilot)
        text = shown(app)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[red]x[/]" in text


async def test_the_palette_leads_to_a_skill() -> None:
    async with skills_mode(FakeLibrary()) as (app, pilot, _):
        await press(pilot, "1")
        app.go_to(SkillPlace(ALERT["id"], run=True))
        form = await form_of(app, pilot)
        assert form._skill.id == ALERT["id"]


async def test_copying() -> None:
    async with skills_mode(FakeLibrary()) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "y", "c")
        assert isinstance(app.system_clipboard, FakeClipboard)
        texts = app.system_clipboard.texts
        await until(pilot, lambda: texts)
        assert texts == ["clawperator skills get com.example.shop.read-price"]


@pytest.mark.ci
async def test_resizing_during_a_run_loses_nothing() -> None:
    library = FakeLibrary(hold=asyncio.Event())
    async with skills_mode(library, size=(80, 24)) as (app, pilot, _):
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: "price=4.99" in shown(app))
        for size in ((200, 60), (60, 16), (120, 36), (80, 24)):
            await pilot.resize_terminal(*size)
            await drained(pilot)
        await until(pilot, lambda: "price=4.99" in shown(app))
        assert isinstance(app.screen.focused, SkillOutput)
