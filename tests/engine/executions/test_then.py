"""The screen before and after an execution: references are resolved on the first, ``then`` shows the second."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, RunOptions, Settings
from clawperator.engine.contracts.references import Reference, tree_id
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions import build, kept_trees, shell_input, verbs
from clawperator.engine.executions.kept_trees import KeptTrees
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.hierarchy.views import view
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.view_lines import lines_of, nodes_of

SETTINGS = "com.android.settings"
NETWORK = {"textEquals": "Network & internet"}


@asynccontextmanager
async def phones(folder: Path, count: int = 1, **scenario: Any) -> AsyncIterator[tuple[Engine, list[SimulatedDevice]]]:
    """An engine of the command line before simulated devices."""
    worlds = [
        create_device(Scenario.model_validate({"speed": 0, "device": {"generation": "0.5"}, **scenario}), index=n)
        for n in range(count)
    ]
    async with AsyncExitStack() as stack:
        simulation = await stack.enter_async_context(Simulation(worlds, mode="server"))
        env = {**simulation.env(), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        yield await stack.enter_async_context(Engine(Settings.resolve({}, env), face="cli")), worlds


async def snapshot(engine: Engine, device_id: str | None = None) -> str:
    taken = await engine.snapshot(device_id=device_id)
    return str(taken.envelope["stepResults"][0]["data"]["text"])


def reference(xml: str, text: str) -> str:
    """The reference of the view to what ``text`` is on: the node itself, or the row around it."""
    node = next(node for node in parse(xml).nodes if text in (node.text, node.content_desc))
    return f"e{node.index}@{tree_id(xml)}"


def refused(error: pytest.ExceptionInfo[EngineError]) -> tuple[str, str]:
    return error.value.code.value, error.value.extra["broadcastDispatchStatus"]


async def act(engine: Engine, payload: Mapping[str, Any], then: str, **more: Any) -> dict[str, Any]:
    result = await engine.execute(payload, options=RunOptions(then=then), **more)
    found = result.to_dict()["then"]
    assert isinstance(found, dict)
    return found


async def test_the_screen_after_an_action_comes_with_its_answer(tmp_path: Path) -> None:
    async with phones(tmp_path) as (engine, _):
        opened = await act(engine, build.open_app(SETTINGS), "compact")
        assert (opened["changed"], opened["settled"], opened["view"]) == (True, True, "compact")
        now = await snapshot(engine)
        assert opened["tree"] == tree_id(now)
        assert opened["lines"] == view(parse(now), "compact", now)["lines"]
        inner = await act(engine, build.click(NETWORK), "diff")
        assert inner["view"] == "compact", "another screen is shorter than what differs"
        flipped = await act(engine, build.click({"textEquals": "Airplane mode"}), "diff")
        assert (flipped["view"], flipped["from"]) == ("diff", inner["tree"])
        where = lines_of(inner).index("  switch e26 id=android:id/switch_widget @970,951 no-click unchecked") + 1
        assert lines_of(flipped) == [
            f"@@ -{where} +{where} @@",
            "-  switch e26 id=android:id/switch_widget @970,951 no-click unchecked",
            "+  switch e26 id=android:id/switch_widget @970,951 no-click checked",
        ]
        assert (await act(engine, build.press_key("back"), "none")).keys() == {
            "changed",
            "settled",
            "settledMs",
            "tree",
        }
        assert engine.history is not None
        runs = await engine.history.runs()
        assert [run.action_count for run in runs] == [1] * 5, "the snapshots around are no executions"
        trees = (await engine.history.find(runs[0].number)).trees
        assert [tree.step_id for tree in trees] == ["then.before", "then.after"]


async def test_an_action_that_changes_nothing_says_so(tmp_path: Path) -> None:
    async with phones(tmp_path) as (engine, _):
        await act(engine, build.press_key("home"), "none")
        found = await act(engine, build.press_key("home"), "diff")
        assert found.keys() == {"changed", "settled", "settledMs", "tree"}
        assert (found["changed"], found["settled"]) == (False, True)
        assert found["settledMs"] >= 500, "apps react late"
        looked = await act(engine, build.snapshot(), "compact")
        assert (looked["changed"], looked["settledMs"] < 500) == (False, True), "a snapshot changes nothing"
        assert looked["lines"], "a view that was asked for is there, changed or not"


async def test_a_failed_step_still_shows_the_screen(tmp_path: Path) -> None:
    async with phones(tmp_path) as (engine, _):
        await engine.execute(build.open_app(SETTINGS))
        result = await engine.execute(build.click({"textEquals": "absent"}), options=RunOptions(then="compact"))
        assert result.outcome.status == "failed"
        assert result.then is not None
        assert (result.then["changed"], result.then["settled"]) == (False, True)


async def test_a_screen_that_never_settles_ends_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.engine.executions.snapshots._SETTLE_SECONDS", 0.3)
    async with phones(tmp_path) as (engine, _):
        found = await act(engine, build.open_app("com.example.spinner"), "compact")
        assert (found["changed"], found["settled"]) == (True, False)
        assert found["settledMs"] >= 300
        assert found["lines"]


async def test_a_screen_without_a_tree_is_reported_beside_the_result(tmp_path: Path) -> None:
    async with phones(tmp_path) as (engine, _):
        await engine.execute(build.open_app("com.example.vault"))
        signed = build.click({"textEquals": "Sign in"})
        result = await engine.execute(signed, options=RunOptions(then="compact"))
        assert result.succeeded
        assert result.then is not None
        assert result.then["error"]["code"] == "UI_TREE_UNAVAILABLE"
        back = await act(engine, build.press_key("back"), "diff")
        assert (back["changed"], back["view"]) == (None, "compact"), "what was before is not known"


async def test_a_form_that_there_is_not_is_refused(tmp_path: Path) -> None:
    async with phones(tmp_path) as (engine, _):
        with pytest.raises(EngineError) as caught:
            await engine.execute(build.press_key("home"), options=RunOptions(then="brief"))
        assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED


class TestReferences:
    async def test_a_node_is_found_again_on_the_same_and_on_a_later_tree(self, tmp_path: Path) -> None:
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_app(SETTINGS))
            home = await snapshot(engine)
            row = next(node for node in parse(home).nodes if node.text == NETWORK["textEquals"]).parent
            assert row is not None
            assert row.parent is not None
            clicked = await engine.execute(build.click({"ref": f"e{row.parent.index}@{tree_id(home)}"}))
            assert clicked.outcome.steps[0].target is not None
            assert clicked.outcome.steps[0].target["text"] == NETWORK["textEquals"]
            inner = await snapshot(engine)
            assert "Airplane mode" in inner
            switch = next(node for node in parse(inner).nodes if node.checkable)
            name = f"e{switch.index}@{tree_id(inner)}"
            for state in (True, False):
                flipped = await act(engine, build.click({"ref": name}), "diff")
                assert flipped["lines"].endswith(" checked" if state else " unchecked")

    async def test_the_history_has_the_selector_that_was_sent(self, tmp_path: Path) -> None:
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_app(SETTINGS))
            home = await snapshot(engine)
            ran = await engine.execute(build.click({"ref": reference(home, NETWORK["textEquals"])}))
            assert engine.history is not None
            record = await engine.history.find(ran.execution_id)
            assert record.payload is not None
            assert record.payload["actions"][0]["params"]["matcher"] == NETWORK

    async def test_a_node_that_is_gone_is_stale(self, tmp_path: Path) -> None:
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_app(SETTINGS))
            home = await snapshot(engine)
            await engine.execute(build.click(NETWORK))
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": reference(home, NETWORK["textEquals"])}))
            assert refused(caught) == ("REF_STALE", "not_sent")
            assert engine.history is not None
            assert (await engine.history.runs(limit=1))[0].status == "refused"
            details = caught.value.details
            assert details["path"] == "actions.0.params.matcher"
            assert details["tree"] == tree_id(await snapshot(engine))
            assert details["node"] == "label id=android:id/title: Network & internet"
            assert details["nearest"] == ["label: Network & internet"], "a title is no row"
            await engine.execute(build.open_app("com.example.thermostat"))
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": reference(home, NETWORK["textEquals"])}))
            assert len(caught.value.details["nearest"]) == 3, "of another app: by id and role"
            assert "details.nearest" in caught.value.hint

    async def test_a_button_with_another_text_is_another_button(self, tmp_path: Path) -> None:
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_uri("thermostat://room/bedroom"))
            room = await snapshot(engine)
            name = reference(room, "20.0°C")
            await engine.execute(build.click({"contentDescEquals": "Increase temperature"}))
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": name}))
            assert refused(caught) == ("REF_STALE", "not_sent")
            assert "20.5°C" in caught.value.details["nearest"][0]
            assert caught.value.details["node"].endswith(": 20.0°C")
            assert "@" not in caught.value.details["node"], "the place is one of the old tree"
            read = await engine.execute(build.read_text({"ref": name}))
            assert read.envelope["stepResults"][0]["data"]["text"] == "20.5°C", "reading changes nothing"

    async def test_an_equal_button_of_another_row_is_another_button(self, tmp_path: Path) -> None:
        """The only "Liked" of the screen, scrolled away, and then that of another post."""
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_app("com.example.feed"))

            async def like() -> str:
                tree = parse(await snapshot(engine))
                button = next(node for node in tree.on_screen if node.text == "Like")
                await engine.execute(shell_input.gesture("tap", tree.point_of(button)))
                xml = await snapshot(engine)
                (liked,) = (node for node in parse(xml).on_screen if node.text == "Liked")
                return f"e{liked.index}@{tree_id(xml)}"

            name = await like()
            for _ in range(3):
                await engine.execute(build.scroll({"direction": "down"}))
            other = await like()
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": name}))
            assert refused(caught) == ("REF_STALE", "not_sent")
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.read_text({"ref": name}))
            assert refused(caught) == ("REF_STALE", "not_sent")
            await engine.execute(build.scroll({"direction": "down", "distanceRatio": 0.1}))
            assert (await engine.execute(build.click({"ref": other}))).succeeded, "its own row has only moved"
            assert all(node.text != "Liked" for node in parse(await snapshot(engine)).on_screen)

    async def test_twins_are_ambiguous(self, tmp_path: Path) -> None:
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_app(SETTINGS))
            home = await snapshot(engine)
            icon = [node for node in parse(home).nodes if node.resource_id == "android:id/title"]
            assert len(icon) > 1
            xml = home.replace("Connected devices", "Apps")
            engine.trees.keep("emulator-5554", xml)
            second = [node for node in parse(xml).nodes if node.text == "Apps"][1]
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": f"e{second.index}@{tree_id(xml)}"}))
            assert refused(caught) == ("REF_AMBIGUOUS", "not_sent")
            assert "share" in caught.value.details["advice"]

    @pytest.mark.parametrize("number", [0, 9_999_999])
    async def test_what_is_no_node_to_act_on_is_unknown(self, tmp_path: Path, number: int) -> None:
        async with phones(tmp_path) as (engine, _):
            xml = await snapshot(engine)
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": f"e{number}@{tree_id(xml)}"}))
            assert refused(caught) == ("REF_UNKNOWN", "not_sent")

    async def test_another_device_s_tree_is_refused(self, tmp_path: Path) -> None:
        async with phones(tmp_path, 2) as (engine, (one, other)):
            await engine.execute(build.open_app(SETTINGS), device_id=one.serial)
            home = await snapshot(engine, one.serial)
            payload = build.click({"ref": reference(home, NETWORK["textEquals"])})
            with pytest.raises(EngineError) as caught:
                await engine.execute(payload, device_id=other.serial)
            assert refused(caught) == ("REF_UNKNOWN", "not_sent")
            assert "another device" in caught.value.message
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": "e1@00000000"}), device_id=one.serial)
            assert "is not stored" in caught.value.message

    @pytest.mark.parametrize("bad", ["e12", "12@7f3a1b2c", "e12@7F3A1B2C", "e12@7f3a", "e12@7f3a1b2c ", "e١@7f3a1b2c"])
    async def test_a_malformed_one_is_refused_before_anything(self, tmp_path: Path, bad: str) -> None:
        async with phones(tmp_path) as (engine, _):
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": bad}))
            assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
            assert caught.value.details["path"] == "actions.0.params.matcher.ref"
            with pytest.raises(EngineError) as caught:
                await engine.execute(build.click({"ref": "e1@00000000", "role": "button"}))
            assert "no field beside ref" in caught.value.message

    async def test_a_policy_without_snapshots_allows_neither(self, tmp_path: Path) -> None:
        policy = tmp_path / "policy.toml"
        policy.write_text('version = 1\nactiveProfile = "p"\n[profiles.p.actions]\ndeny = ["snapshot_ui"]\n')
        async with phones(tmp_path) as (engine, _):
            engine.settings = Settings.resolve({"policy_path": str(policy)}, engine.settings.environment)
            for options, matcher in ((RunOptions(then="none"), NETWORK), (None, {"ref": "e1@00000000"})):
                with pytest.raises(EngineError) as caught:
                    await engine.execute(build.click(matcher), options=options)
                assert caught.value.code is ErrorCode.ACTION_DENIED

    @pytest.mark.ci
    async def test_ten_thousand_references(self, tmp_path: Path) -> None:
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_app(SETTINGS))
            home = await snapshot(engine)
            row = '<node class="android.widget.Button" text="row {}" clickable="true" bounds="[0,0][9,9]" />'
            xml = home.replace("</hierarchy>", "".join(map(row.format, range(10_000))) + "</hierarchy>")
            engine.trees.keep("emulator-5554", xml)
            tree = view(parse(xml), "interactive", xml)
            assert sum(node["text"].startswith("row ") for node in nodes_of(tree) if "text" in node) == 10_000
            title = reference(xml, NETWORK["textEquals"])
            assert (await engine.execute(build.click({"ref": title}))).succeeded, "it is on the small screen, too"
            plan = build.click({"ref": nodes_of(tree)[-1]["ref"] + "@" + tree["tree"]})
            action = plan["actions"][0]
            plan["actions"] = [{**action, "id": f"a{n}"} for n in range(50)]
            with pytest.raises(EngineError) as caught:
                await engine.execute(plan)
            assert refused(caught) == ("REF_STALE", "not_sent")
            assert caught.value.details["actionId"] == "a0"

    async def test_a_composition_takes_a_reference_and_shows_the_screen_after_it(self, tmp_path: Path) -> None:
        async with phones(tmp_path) as (engine, _):
            await engine.execute(build.open_app(SETTINGS))
            await engine.execute(build.click(NETWORK))
            screen = await snapshot(engine)
            switch = next(node for node in parse(screen).nodes if node.checkable)
            name = {"ref": f"e{switch.index}@{tree_id(screen)}"}
            for changed in (True, False):
                ran = await engine.execute(verbs.set_checked(name, checked=True), options=RunOptions(then="diff"))
                assert (ran.facts["changed"], ran.facts["checked"]) == (changed, True)
                assert ran.then is not None
                assert ran.then["changed"] is changed
            gone = verbs.wait_gone({"ref": reference(screen, "Airplane mode")})
            await engine.execute(build.press_key("back"))
            with pytest.raises(EngineError) as caught:
                await engine.execute(gone)
            assert refused(caught) == ("REF_STALE", "not_sent")
            assert caught.value.details["path"] == "selector"
            key = await engine.execute(shell_input.key("BACK"), options=RunOptions(then="compact"))
            assert key.backend == "shell"
            assert key.then is not None
            assert key.then["changed"] is True


class TestKeptTrees:
    def test_the_last_ones_are_kept_in_private_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kept_trees, "_KEPT", 3)
        folder = tmp_path / "clawperator" / "trees"
        kept = KeptTrees(str(folder))
        names = [Reference(1, kept.keep("s", f"<node n='{n}'/>")) for n in range(5)]
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [found(kept, name) for name in names] == [False, False, True, True, True]
        assert KeptTrees(str(folder)).find("s", names[4]) == "<node n='4'/>"

    def test_a_damaged_or_foreign_file_is_no_tree(self, tmp_path: Path) -> None:
        folder = tmp_path / "trees"
        kept = KeptTrees(str(folder))
        name = Reference(1, kept.keep("s", "<node/>"))
        (file,) = folder.iterdir()
        for content in (b"", b"garbage", kept_trees._packed("<other/>")):
            file.write_bytes(content)
            assert not found(kept, name)

    def test_a_folder_that_cannot_be_used_loses_references_only(self, tmp_path: Path) -> None:
        (tmp_path / "trees").write_text("a file")
        kept = KeptTrees(str(tmp_path / "trees"))
        assert not found(kept, Reference(1, kept.keep("s", "<node/>")))

    def test_without_a_folder_they_are_in_memory(self) -> None:
        kept = KeptTrees("")
        names = [Reference(1, kept.keep("s", f"<node n='{n}'/>")) for n in range(66)]
        assert [found(kept, name) for name in names[:3]] == [False, False, True]

    def test_memory_is_bounded_by_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trees = [f"<node n='{n}'/>" for n in range(4)]
        monkeypatch.setattr(kept_trees, "_KEPT_BYTES", sum(len(kept_trees._packed(tree)) for tree in trees[2:]))
        kept = KeptTrees("")
        names = [Reference(1, kept.keep("s", tree)) for tree in trees]
        assert [found(kept, name) for name in names] == [False, False, True, True]

    async def test_safe_logs_write_no_tree(self, tmp_path: Path) -> None:
        async with (
            phones(tmp_path) as (engine, _),
            Engine(Settings.resolve({"safe_logs": True}, engine.settings.environment)) as safe,
        ):
            xml = await snapshot(safe)
            assert safe.trees.find("emulator-5554", Reference(1, tree_id(xml))) == xml
        assert not (tmp_path / "state" / "clawperator" / "trees").exists()


def found(kept: KeptTrees, name: Reference) -> bool:
    with suppress(EngineError):
        return bool(kept.find("s", name))
    return False
