"""The console's way to the engine's skills: real registries, real scripts, the real compiler, and files that change."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, Self

import pytest

from clawperator.app.console.file_watch import file_signs
from clawperator.app.console.messages import NoticeUpdate, Update, ValueUpdate
from clawperator.app.console.skills.controller import SkillsController
from clawperator.app.console.skills.jobs import SkillLibrary
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.guard import Guard
from clawperator.engine.skills.describe import SkillEntry, SkillInput, SkillIssue
from clawperator.engine.skills.registry import BUILTIN
from clawperator.engine.skills.run import OutputLine
from clawperator.engine.skills.run_options import (
    RunOption,
    SkillRequest,
    run_options,
)
from clawperator.widgets.models.skills import SkillsState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock
from tests.app.console.fake_skills import ALERT, FakeLibrary
from tests.engine.skills.made import alive, until
from tests.support import patience

NAME = "com.example.app.greet"
RECIPE = """---
recipe_id: com.example.app.greet
recipe_version: 1.0.0
recipe_type: probe
application_id: com.example.app
summary: Greet somebody.
frameworks: [views]
session_policy: resume_ok
app_build: {version_name: "1.0", version_code: 1}
tested_on: {android_api: 34}
capabilities: [observe]
inputs:
  - {name: person_name, type: string, required: true, default: ""}
outputs: []
---
## Step 1: look
```yaml
id: look
type: wait_for_node
selector: {text_equals: "Hello ${inputs.person_name}", annotation: USER_SPECIFIC}
```
"""
SCRIPT = """#!/bin/sh
echo "device=$1 word=$2 name=$CLAWPERATOR_SKILL_ID"
echo "RESULT|word=$2"
"""


def registry(root: Path, *, recipe: str = RECIPE, script: str = SCRIPT, **more: Any) -> Path:
    """A registry with one skill, and where it is."""
    folder = root / "skills" / NAME
    (folder / "artifacts").mkdir(parents=True)
    (folder / "scripts").mkdir()
    (folder / "SKILL.md").write_text(
        "---\nname: greet\ndescription: x\n---\n# Greet\n\nSays hello; `--person_name` says to whom.\n"
    )
    (folder / "artifacts" / "greet.recipe.md").write_text(recipe)
    (folder / "scripts" / "greet.sh").write_text(script)
    entry = {
        "id": NAME,
        "applicationId": "com.example.app",
        "intent": "greet",
        "summary": "Greet somebody.",
        "path": f"skills/{NAME}",
        "skillFile": f"skills/{NAME}/SKILL.md",
        "scripts": [f"skills/{NAME}/scripts/greet.sh"],
        "artifacts": [f"skills/{NAME}/artifacts/greet.recipe.md"],
        **more,
    }
    (folder / "skill.json").write_text(json.dumps(entry))
    path = root / "skills" / "skills-registry.json"
    path.write_text(json.dumps({"schemaVersion": "1.0", "generatedAt": "2026-01-01T00:00:00Z", "skills": [entry]}))
    return path


def jobs_of(tmp_path: Path, *, policy: str = "", env: dict[str, str] | None = None, **more: Any) -> SkillLibrary:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    around = {"HOME": str(home), "PATH": os.environ["PATH"], **(env or {})}
    flags: dict[str, Any] = {"policy_path": policy, "log_dir": str(tmp_path / "logs")}
    settings = Settings.resolve(flags, around)

    async def device(_: str) -> NoReturn:
        raise EngineError(ErrorCode.DEVICE_NOT_FOUND, "gone")

    engine: Any = SimpleNamespace(
        history=None, guard=Guard(settings), settings=settings, device=device, operator_package=device
    )
    return SkillLibrary(engine, settings, **more)


def jobs_with(tmp_path: Path, path: Path, **more: Any) -> SkillLibrary:
    return jobs_of(tmp_path, env={"CLAWPERATOR_SKILLS_REGISTRY": str(path)}, **more)


WAY = RunOption(
    "greet.recipe.md", artifact="greet.recipe.md", fields=(SkillInput("person_name", required=True, personal=True),)
)

# -- finding


def test_without_a_registry_the_skills_that_come_along_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = jobs_of(tmp_path).find()
    assert found.registry.source == BUILTIN
    assert found.trouble is not None
    assert "Press U" in found.trouble.hint
    assert len(found.skills) >= 5


def test_a_demo_has_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert jobs_of(tmp_path).find().registry.source == "cwd"
    found = jobs_of(tmp_path, demo=True).find()
    assert (found.registry.source, found.trouble) == (BUILTIN, None)


def test_a_registry_that_is_broken_is_not_replaced_by_another(tmp_path: Path) -> None:
    path = registry(tmp_path)
    path.write_text('{"skills": [')
    with pytest.raises(EngineError) as caught:
        jobs_with(tmp_path, path).find()
    assert caught.value.code is ErrorCode.REGISTRY_READ_FAILED
    assert "line 1" in caught.value.message


# -- cards


def test_a_card_says_what_the_files_say(tmp_path: Path) -> None:
    jobs = jobs_with(tmp_path, registry(tmp_path))
    found = jobs.find()
    card = jobs.card(found.registry, found.skills[0])
    assert "# Greet" in card.text
    (artifact,) = card.artifacts
    assert artifact.about == "probe 1.0.0"
    assert [(field.name, field.required, field.personal) for field in artifact.inputs] == [("person_name", True, True)]
    assert [(ruling.name, ruling.allowed) for ruling in card.rulings] == [("observe", True), ("com.example.app", True)]


def test_the_policy_that_holds_is_asked(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\nactiveProfile = "strict"\n[profiles.strict.packages]\nallow = ["com.other.*"]\n')
    jobs = jobs_with(tmp_path, registry(tmp_path), policy=str(policy))
    found = jobs.find()
    card = jobs.card(found.registry, found.skills[0])
    assert card.profile == "strict"
    assert [ruling.name for ruling in card.denied] == ["com.example.app"]
    policy.write_text("version = nonsense")
    broken = jobs.card(found.registry, found.skills[0])
    assert broken.policy_trouble is not None
    assert broken.rulings == ()


def test_a_recipe_that_cannot_be_read_says_where(tmp_path: Path) -> None:
    jobs = jobs_with(tmp_path, registry(tmp_path, recipe=RECIPE.replace("id: look\n", "id: [look\n")))
    found = jobs.find()
    trouble = jobs.card(found.registry, found.skills[0]).artifacts[0].trouble
    assert trouble is not None
    assert trouble.code == "RECIPE_PARSE_FAILED"
    assert trouble.file.endswith("greet.recipe.md")
    assert trouble.line >= 17


def test_what_is_missing_or_no_file_at_all_is_said_in_its_place(tmp_path: Path) -> None:
    path = registry(tmp_path)
    folder = path.parent / NAME
    (folder / "SKILL.md").unlink()
    os.mkfifo(folder / "SKILL.md")  # nobody writes into it: whoever opened it would wait for ever
    (folder / "artifacts" / "greet.recipe.md").unlink()
    jobs = jobs_with(tmp_path, path)
    found = jobs.find()
    card = jobs.card(found.registry, found.skills[0])
    assert "not a regular file" in card.text_problem
    assert card.artifacts[0].trouble is not None


def test_a_link_out_of_the_registry_is_not_followed(tmp_path: Path) -> None:
    path = registry(tmp_path / "registry")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (path.parent / NAME / "SKILL.md").unlink()
    (path.parent / NAME / "SKILL.md").symlink_to(secret)
    jobs = jobs_with(tmp_path, path)
    found = jobs.find()
    card = jobs.card(found.registry, found.skills[0])
    assert "secret" not in card.text
    assert card.text_problem


def test_lint_finds_what_is_wrong(tmp_path: Path) -> None:
    path = registry(tmp_path)
    (path.parent / NAME / "SKILL.md").write_text("ask ann@example.org\n")
    jobs = jobs_with(tmp_path, path)
    found = jobs.findings(jobs.find().registry, NAME)
    assert ("L-LITERAL-EMAIL", 1, "error") in [(one.code, one.line, one.severity) for one in found]


def test_every_skill_that_comes_along_is_right(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path, demo=True)
    found = jobs.find()
    for skill in found.skills:
        card = jobs.card(found.registry, skill)
        assert not card.text_problem
        assert [artifact.trouble for artifact in card.artifacts] == [None] * len(card.artifacts)
        assert not [one for one in jobs.findings(found.registry, skill.id) if one.severity == "error"]
        assert run_options(skill, card, for_draft=False)


# -- compiling


def test_an_artifact_compiles_with_what_was_typed(tmp_path: Path) -> None:
    jobs = jobs_with(tmp_path, registry(tmp_path))
    plan = jobs.compile(jobs.find().registry, NAME, WAY, {"person_name": 'Ann "x" {y}\n'})
    action = plan.execution["actions"][0]
    assert action["params"]["matcher"]["textEquals"] == 'Hello Ann "x" {y}\n'
    assert plan.capabilities == ("observe",)


def test_what_is_missing_names_its_input(tmp_path: Path) -> None:
    jobs = jobs_with(tmp_path, registry(tmp_path))
    with pytest.raises(EngineError) as caught:
        jobs.compile(jobs.find().registry, NAME, WAY, {})
    assert SkillIssue.of(caught.value).field == "person_name"


def test_the_policy_holds_for_compiling(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\nactiveProfile = "p"\n[profiles.p.capabilities]\ndeny = ["observe"]\n')
    jobs = jobs_with(tmp_path, registry(tmp_path), policy=str(policy))
    with pytest.raises(EngineError) as caught:
        jobs.compile(jobs.find().registry, NAME, WAY, {"person_name": "Ann"})
    assert caught.value.code is ErrorCode.CAPABILITY_DENIED


# -- running


async def test_a_script_runs_under_the_name_of_its_skill(tmp_path: Path) -> None:
    jobs = jobs_with(tmp_path, registry(tmp_path))
    reported: list[OutputLine] = []
    ended = await jobs.run(jobs.find().registry, NAME, ["two words"], "serial-1", reported.append)
    assert ended.exit_code == 0
    assert [line.text for line in reported] == [f"device=serial-1 word=two words name={NAME}", "RESULT|word=two words"]


async def test_a_demos_scripts_see_nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "a-real-phone")
    monkeypatch.setenv("ANDROID_SERIAL", "a-real-phone")
    places = {"history_path": str(tmp_path / "demo" / "history.db"), "log_dir": str(tmp_path / "logs")}
    settings = Settings.resolve(places, {"ANDROID_ADB_SERVER_PORT": "4711"})
    around = SkillLibrary(None, settings, demo=True)._settings.environment
    assert around["ANDROID_ADB_SERVER_PORT"] == "4711"
    assert around["HOME"] == str(tmp_path / "demo")
    assert "PATH" in around
    assert not {"CLAWPERATOR_DEVICE_ID", "ANDROID_SERIAL"} & set(around)


async def test_without_an_engine_of_its_own_a_console_runs_nothing(tmp_path: Path) -> None:
    registry(tmp_path)
    env = {"HOME": str(tmp_path), "CLAWPERATOR_SKILLS_REGISTRY": str(tmp_path / "skills" / "skills-registry.json")}
    jobs = SkillLibrary(None, Settings.resolve({}, env))
    with pytest.raises(EngineError) as caught:
        await jobs.run(jobs.find().registry, NAME, [], "serial-1", lambda _: None)
    assert caught.value.code is ErrorCode.NO_DEVICES


async def test_a_demo_fetches_nothing(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        await jobs_of(tmp_path, demo=True).sync("main", lambda _: None)
    assert "built-in skills" in caught.value.message


# -- the controller over real files


class Controlled:
    """A controller with what starts its jobs and hears its news."""

    def __init__(self, jobs: Any) -> None:
        self.reported: list[Update] = []
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Future[None]] = set()
        self.skilling = SkillsController(jobs, self._hear, WallClock(), self._start, lambda on: on)

    def _hear(self, news: Update) -> None:
        self.reported.append(news)
        self._news.set()

    def _start(self, _name: str, job: Any) -> bool:
        self._tasks.add(asyncio.ensure_future(job))
        return True

    @property
    def skills_state(self) -> SkillsState:
        return self.skilling.skills_state

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(patience(12)):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def __aenter__(self) -> Self:
        self.skilling.begin()
        await self.until(lambda: self.skills_state.known)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_a_registry_and_a_skill_that_change_are_read_again(tmp_path: Path) -> None:
    path = registry(tmp_path)
    async with Controlled(jobs_with(tmp_path, path)) as desk:
        desk.skilling.look_at(NAME)
        await desk.until(lambda: desk.skills_state.card is not None and desk.skills_state.card.findings is not None)
        (path.parent / NAME / "SKILL.md").write_text("# Another text\n")
        await desk.until(lambda: desk.skills_state.card is not None and "Another text" in desk.skills_state.card.text)
        document = json.loads(path.read_text())
        document["skills"].append({**document["skills"][0], "id": "com.example.app.more"})
        path.write_text(json.dumps(document))
        await desk.until(lambda: len(desk.skills_state.skills) == 2)
        path.write_text("{")
        await desk.until(lambda: desk.skills_state.trouble is not None)
        assert desk.skills_state.skills == ()


async def test_an_installed_registry_takes_the_place_of_what_comes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    async with Controlled(jobs_of(tmp_path)) as desk:
        assert desk.skills_state.source == BUILTIN
        registry(tmp_path / "home" / ".clawperator" / "skills")
        await desk.until(lambda: desk.skills_state.source == "installed")
        assert [skill.id for skill in desk.skills_state.skills] == [NAME]


async def test_a_script_that_is_cancelled_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = "#!/bin/sh\nsleep 1000 &\necho $!\nwait\n"
    async with Controlled(jobs_with(tmp_path, registry(tmp_path, script=script))) as desk:
        assert desk.skilling.start_run(SkillRequest(NAME, RunOption("script greet.sh"), {}), "")
        await desk.until(lambda: desk.skills_state.run is not None and desk.skills_state.run.printed)
        assert desk.skills_state.run is not None
        child = int(desk.skills_state.run.output[0].text)
        assert desk.skilling.cancel()
        await desk.until(lambda: not desk.skilling.busy)
        until(lambda: not alive(child))  # SIGKILL has been sent: an orphan may take a moment to be gone
        assert desk.skills_state.run.status is Status.SKIPPED


async def test_news_of_output_are_few() -> None:
    """A hundred thousand lines are a handful of messages, and only the last of the lines are kept."""
    library = FakeLibrary(printed=[("stdout", f"line {number}", 0.0) for number in range(100_000)])
    async with Controlled(library) as desk:
        desk.reported.clear()
        assert desk.skilling.start_run(SkillRequest(str(ALERT["id"]), RunOption("script"), {}), "")
        await desk.until(lambda: not desk.skilling.busy)
        assert sum(isinstance(news, ValueUpdate) for news in desk.reported) < 10
        assert desk.skills_state.run is not None
        assert desk.skills_state.run.output.end == 100_000
        assert len(desk.skills_state.run.output) <= 20_000
        assert sum(isinstance(news, NoticeUpdate) for news in desk.reported) == 1


async def test_signs_change_with_the_files(tmp_path: Path) -> None:
    path = registry(tmp_path)
    jobs = jobs_with(tmp_path, path)
    registered = jobs.find().registry
    before = jobs.signs(registered, NAME)
    assert jobs.signs(registered, NAME) == before
    (path.parent / NAME / "scripts" / "more.sh").write_text("x")
    assert jobs.signs(registered, NAME) != before
    assert file_signs([str(tmp_path / "nowhere")]) == ((str(tmp_path / "nowhere"), ()),)


def test_a_shelf_knows_its_skills() -> None:
    skills_state = SkillsState(skills=(SkillEntry(id="a"),))
    assert skills_state.skill("a") is not None
    assert skills_state.skill("b") is None
