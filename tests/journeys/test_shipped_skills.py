"""The skills that come along, as people run them: every script and every recipe on a simulated device behind the real adb."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.skills.registry import load_registry
from tests.journeys.conftest import Bench
from tests.support import CLI, Ran, ran

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Bench]]

OVERVIEW = "com.android.settings.overview"
SEARCH = "com.example.shop.search"
READ = "com.example.thermostat.read-target"
SET = "com.example.thermostat.set-mode"
FEED = "com.example.feed.read-posts"


class Ended(Ran):
    def frames(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.document["frames"] if frame["kind"] == kind]


Skill = Callable[..., Awaitable[Ended]]


@pytest.fixture
async def skill(connect: Connect) -> Skill:
    """``skill(id, *arguments)``: the real program runs it on the one device that there is."""
    bench = await connect()

    async def run(skill_id: str, *arguments: str) -> Ended:
        words = ("skills", "run", skill_id, "--registry", "builtin", "--device-id", bench.serial, *arguments)
        return Ended(*await ran(*CLI, *words, env=bench.env))

    return run


def taken(path: str) -> bytes:
    """The picture, which nobody needs any more."""
    picture = Path(path).read_bytes()
    shutil.rmtree(Path(path).parent)
    return picture


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


def test_every_skill_has_a_script_and_a_recipe() -> None:
    skills = load_registry("builtin").skills
    assert {entry["id"] for entry in skills} == {OVERVIEW, SEARCH, READ, SET, FEED}
    for entry in skills:
        assert [Path(path).name.endswith(".recipe.md") for path in entry["artifacts"]] == [True]
        assert entry["scripts"]
    assert {Path(script).suffix for entry in skills for script in entry["scripts"]} == {".js", ".py", ".sh"}


# -- scripts


@pytest.mark.ci
async def test_overview_script(skill: Skill) -> None:
    done = await skill(OVERVIEW, "--", "--section", "Battery", "--section", "System")
    assert done.exit_code == 0, done.document
    (result,), (shot,) = done.frames("result"), done.frames("screenshot")
    assert result["values"] == {"Battery": "found", "System": "found"}
    assert taken(shot["path"]).startswith(b"\x89PNG\r\n")
    assert done.frames("done")


@pytest.mark.ci
async def test_overview_script_misses_what_is_not_there(skill: Skill) -> None:
    done = await skill(OVERVIEW, "--", "--section", "Nothing of it")
    assert (done.exit_code, done.document["code"]) == (1, "SKILL_EXECUTION_FAILED")
    assert "1 of 1 sections are missing" in done.document["stderr"]


@needs_node
async def test_search_script(skill: Skill) -> None:
    done = await skill(SEARCH, "--", "--query", "desk <xl>")
    assert done.exit_code == 0, done.document
    (frame,) = done.frames("skillResult")
    assert frame["result"]["products"] == [{"name": "Desk <XL>, bamboo & steel", "price": "$279.00"}]
    nothing = await skill(SEARCH, "--", "--query", "submarine")
    assert nothing.frames("skillResult")[0]["result"]["products"] == []


@needs_node
@pytest.mark.parametrize("arguments", [("--query", "  "), ("--colour", "red")], ids=str)
async def test_search_script_refuses(skill: Skill, arguments: tuple[str, ...]) -> None:
    done = await skill(SEARCH, "--", *arguments)
    assert (done.exit_code, done.document["code"]) == (1, "SKILL_EXECUTION_FAILED")
    assert "--" in done.document["stderr"]
    assert done.document["stdout"] == ""


@needs_node
async def test_setting_a_mode_and_reading_the_target(skill: Skill) -> None:
    done = await skill(SET, "--", "--room", "Bedroom", "--mode", "Cool")
    assert done.exit_code == 0, done.document
    assert done.frames("result")[0]["values"] == {"room": "Bedroom", "mode": "Cool", "verified": "true"}
    read = await skill(READ, "--", "--room", "Bedroom")
    assert read.exit_code == 0, read.document
    assert read.frames("skillResult")[0]["result"] == {"room": "Bedroom", "target": 20.0, "unit": "°C"}


@pytest.mark.ci
async def test_an_unknown_room_is_an_error(skill: Skill) -> None:
    done = await skill(READ, "--", "--room", "Attic")
    assert (done.exit_code, done.document["code"]) == (1, "SKILL_EXECUTION_FAILED")
    assert "Attic" in done.document["stderr"]


@pytest.mark.ci
async def test_posts_over_several_pages(skill: Skill) -> None:
    done = await skill(FEED, "--", "--count", "25")
    assert done.exit_code == 0, done.document
    posts = done.frames("skillResult")[0]["result"]["posts"]
    assert [post["number"] for post in posts] == [f"#{number}" for number in range(1, 26)]
    assert posts[1]["text"] == "[bold]not markup[/bold], and <b>not</b> HTML & more"


# -- recipes


@pytest.mark.parametrize(
    ("skill_id", "artifact", "variables", "outputs"),
    [
        (OVERVIEW, "overview", {}, {"heading": "Settings"}),
        (SEARCH, "search", {"query": "coffee"}, {"count": 4, "first": "Coffee grinder, burr"}),
        (READ, "target", {"room": "Living room"}, {"target": 20.0}),
        (SET, "set-mode", {"room": "Bathroom", "mode": "Off"}, {"mode": "Off"}),
        pytest.param(FEED, "find-post", {"post": 18}, {"reached": 18}, marks=pytest.mark.ci),
    ],
)
async def test_recipe(skill: Skill, skill_id: str, artifact: str, variables: object, outputs: object) -> None:
    done = await skill(skill_id, "--artifact", artifact, "--vars", json.dumps(variables))
    assert done.exit_code == 0, done.document
    assert done.document["outputs"] == outputs
    assert done.document["variance"] == done.document["errors"] == []


async def test_a_search_without_a_result_is_a_variance(skill: Skill) -> None:
    done = await skill(SEARCH, "--artifact", "search", "--vars", '{"query": "submarine"}')
    assert done.exit_code == 0, done.document
    assert done.document["outputs"] == {}
    assert [entry["stepId"] for entry in done.document["variance"]] == ["count", "first"]
