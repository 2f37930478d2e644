"""``set``, ``submit``, ``wait --gone``, ``read --rows`` and ``input`` on a simulated device."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.app.cli.command_table import COMMANDS
from clawperator.engine.executions import composition, verbs
from clawperator.engine.simulator.command_error import CommandError
from tests.app.cli.conftest import Plug
from tests.support import CLI, patience, running

if TYPE_CHECKING:
    from clawperator.engine.simulator.device import SimulatedDevice
    from tests.app.cli.conftest import Cli, Run

SETTINGS, SHOP = "com.android.settings", "com.example.shop"
DARK = ("--selector", '{"textEquals":"Dark theme"}')
FIELD = f"{SHOP}:id/search_src_text"


@pytest.fixture
def phone(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> SimulatedDevice:
    monkeypatch.setattr(verbs, "SETTLE_MS", 200)
    monkeypatch.setattr(verbs, "EFFECT_MS", 300)
    monkeypatch.setattr(composition, "POLL_SECONDS", 0.01)
    return plug()


def steps(run: Run) -> dict[str, str]:
    return {step["id"]: step["status"] for step in run.document["outcome"]["steps"]}


def error(run: Run) -> dict[str, Any]:
    assert run.exit_code == 1
    found: dict[str, Any] = run.document.get("outcome", {}).get("error") or run.document
    return found


def refused(run: Run, code: str) -> dict[str, Any]:
    """The error of a refusal: nothing was sent."""
    assert (run.exit_code, run.document["code"]) == (1, code), run.out
    assert run.document.get("broadcastDispatchStatus", "not_sent") == "not_sent"
    return run.document


class TestSet:
    def test_acts_only_if_the_state_differs(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        first, second = (cli("set", *DARK, "--checked", "true") for _ in range(2))
        assert (first.exit_code, first.document["result"]) == (0, {"changed": True, "checked": True})
        assert steps(first) == {"look": "done", "act": "done", "verify": "done"}
        assert phone.ui.setting("system", "dark_theme") == "1"
        assert (second.exit_code, second.document["result"]) == (0, {"changed": False, "checked": True})
        assert steps(second) == {"look": "done", "act": "not_run", "verify": "not_run"}
        assert cli("set", *DARK, "--checked", "false").document["result"] == {"changed": True, "checked": False}

    def test_the_trees_are_in_the_history_and_not_in_the_answer(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        run = cli("set", *DARK, "--checked", "true")
        assert "<node" not in run.out
        assert len(run.out) < 1_200
        recorded = cli("history", "show", run.document["executionId"]).document["execution"]
        assert [tree["stepId"] for tree in recorded["trees"]] == ["look", "verify"]
        assert len(cli("history", "list").document["executions"]) == 1, "one row"

    def test_its_payload_is_not_replayed_without_the_decision(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        run = cli("set", *DARK, "--checked", "true")
        payload = cli("history", "show", run.document["executionId"]).document["execution"]["payload"]
        error = refused(cli("execute", json.dumps(payload)), "EXECUTION_VALIDATION_FAILED")
        assert ("'composition'" in error["message"], "`clawperator set`" in error["hint"]) == (True, True)
        assert phone.ui.setting("system", "dark_theme") == "1"

    def test_a_node_that_cannot_be_checked(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        run = cli("set", "--selector", '{"textEquals":"Brightness level"}', "--checked", "true")
        assert error(run)["code"] == "NODE_NOT_FOUND"
        assert steps(run) == {"look": "failed", "act": "not_run", "verify": "not_run"}
        absent = error(cli("set", "--selector", '{"textEquals":"Dark them"}', "--checked", "true"))
        assert [near["node"]["text"] for near in absent["details"]["nearest"]] == ["Dark theme"], (
            "not what is unlike it"
        )
        assert (absent["details"]["selector"], absent["details"]["matches"]) == ({"textEquals": "Dark them"}, 0)

    def test_a_click_without_the_effect_fails(
        self, phone: SimulatedDevice, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        phone.ui.show(SETTINGS, "display")
        monkeypatch.setattr(phone.ui, "put_setting", lambda *_: None)
        run = cli("set", *DARK, "--checked", "true")
        assert error(run)["code"] == "VERIFY_FAILED"
        assert steps(run) == {"look": "done", "act": "done", "verify": "failed"}

    def test_text(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SHOP, "search")
        first, second = (cli("set", "--id", FIELD, "--text", "täa") for _ in range(2))
        assert first.document["result"] == {"changed": True, "text": "täa"}
        assert second.document["result"] == {"changed": False, "text": "täa"}
        assert steps(second) == {"look": "done", "act": "not_run", "verify": "not_run"}

    def test_a_switch_is_found_by_its_text(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        changed = cli("set", "--text", "Dark theme", "--checked", "on").document["result"]
        assert (changed, phone.ui.setting("system", "dark_theme")) == ({"changed": True, "checked": True}, "1")

    def test_wrong_forms(self, cli: Cli) -> None:
        for words in ((), ("--checked", "true"), (*DARK,), (*DARK, "--checked", "yes"), (*DARK, "--checked")):
            refused(cli("set", *words), "USAGE")
        refused(cli("set", *DARK, "--checked", "true", "--text", "x"), "EXECUTION_VALIDATION_FAILED")
        refused(cli("set", "--selector", '{"nope":"x"}', "--checked", "true"), "EXECUTION_VALIDATION_FAILED")


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"kind": "silence", "commands": [2]}, "RESULT_ENVELOPE_TIMEOUT"),
        ({"kind": "malformed_envelope", "commands": [2]}, "RESULT_ENVELOPE_MALFORMED"),
        ({"kind": "disconnect", "step": 1, "commands": [2]}, "LOGCAT_UNAVAILABLE"),
    ],
    ids=lambda value: value.get("kind") if isinstance(value, dict) else "",
)
def test_what_is_known_when_a_part_fails(cli: Cli, plug: Plug, fault: dict[str, Any], code: str) -> None:
    """The look was done, the action may have been: one error with the steps, and one row."""
    plug(faults=[fault]).ui.show(SETTINGS, "display")
    run = cli("set", *DARK, "--checked", "true", "--timeout-ms", "1000")
    found = run.document
    assert (run.exit_code, found["code"], found["broadcastDispatchStatus"]) == (1, code, "sent")
    assert {step["id"]: step["status"] for step in found["outcome"]["steps"]}["look"] == "done"
    assert found["outcome"]["status"] == "unknown"
    (row,) = cli("history", "list").document["executions"]
    assert (row["status"], row["code"]) == ("failed", code)


class TestSubmit:
    def test_enter_opens_the_results(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SHOP, "search")
        run = cli("submit", "--id", FIELD, "--text", "coffee")
        assert run.document["result"] == {"changed": True, "submittedBy": "input keyevent KEYCODE_ENTER"}
        assert steps(run) == {"type": "done", "look": "done", "submit": "done", "verify": "done"}
        assert phone.ui.window().screen.activity == ".ResultsActivity"

    @pytest.mark.parametrize("words", [("action", "type"), ("type",)])
    def test_type_with_submit_says_what_was_seen(
        self, phone: SimulatedDevice, cli: Cli, words: tuple[str, ...]
    ) -> None:
        phone.ui.show(SHOP, "search")
        text = ("--text", "desk") if len(words) > 1 else ("desk",)
        run = cli(*words, "--id", FIELD, *text, "--submit")
        assert run.document["result"] == {"effect": "changed", "submittedBy": "input keyevent KEYCODE_ENTER"}
        assert set(steps(run).values()) == {"done"}
        assert phone.ui.window().screen.activity == ".ResultsActivity"

    @pytest.mark.parametrize("words", [("action", "type"), ("type",)])
    def test_type_with_submit_is_done_where_nothing_changes(
        self, phone: SimulatedDevice, cli: Cli, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As in a search as you type: callers that repeat a failure would press Enter twice."""
        phone.ui.show(SETTINGS, "search")
        keys: list[str] = []
        press = phone.input.key

        def pressed(key: int | str) -> None:
            keys.append(str(key))
            press(key)

        monkeypatch.setattr(phone.input, "key", pressed)
        text = ("--text", "dark") if len(words) > 1 else ("dark",)
        run = cli(*words, "--id", f"{SETTINGS}:id/search_src_text", *text, "--submit")
        assert (run.exit_code, run.document["outcome"]["status"]) == (0, "succeeded")
        assert run.document["result"]["effect"] == "none_seen"
        assert len([key for key in keys if "ENTER" in key]) == 1

    def test_it_fails_where_enter_changes_nothing(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "search")
        run = cli("submit", "--id", f"{SETTINGS}:id/search_src_text", "--text", "dark")
        assert error(run)["code"] == "VERIFY_FAILED"
        assert steps(run)["submit"] == "done"

    def test_an_error_after_enter_says_that_it_was_pressed(
        self, plug: Plug, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The device is lost at the look afterwards: to repeat the command would submit twice."""
        monkeypatch.setattr(verbs, "SETTLE_MS", 200)
        phone = plug(faults=[{"kind": "disconnect", "step": 1, "commands": [2]}])
        phone.ui.show(SHOP, "search")
        run = cli("submit", "--id", FIELD, "--text", "coffee")
        assert run.exit_code == 1
        found = steps(run)
        assert {name: found[name] for name in ("type", "look", "submit")} == dict.fromkeys(
            ("type", "look", "submit"), "done"
        )
        assert (run.document["broadcastDispatchStatus"], run.document["retryable"]) == ("sent", False)

    def test_without_a_focused_field_nothing_is_pressed(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        run = cli("submit")
        assert error(run)["code"] == "NODE_NOT_FOUND"
        assert steps(run) == {"look": "failed", "submit": "not_run", "verify": "not_run"}
        refused(cli("submit", "--id", FIELD), "EXECUTION_VALIDATION_FAILED")


class TestWait:
    def test_gone(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        assert cli("wait", "--text", "Internet", "--gone").document["result"] == {"gone": True}
        run = cli("wait", "--text", "Dark theme", "--gone", "--timeout", "50")
        assert error(run)["code"] == "VERIFY_FAILED"
        assert "after 50 ms" in error(run)["message"]

    def test_app(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        assert cli("action", "wait", "--app", SETTINGS).document["result"] == {"app": SETTINGS}
        assert error(cli("wait", "--app", SHOP, "--timeout", "50"))["code"] == "VERIFY_FAILED"

    def test_text_changes(self, phone: SimulatedDevice, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        phone.ui.show("com.example.thermostat", "room", "living")
        readable = phone.ui.readable
        looks: list[None] = []

        def warmer() -> Any:
            looks.append(None)
            if len(looks) == 3:
                phone.ui.state["living_target"] = 21.5
                phone.ui.changed()
            return readable()

        monkeypatch.setattr(phone.ui, "readable", warmer)
        run = cli("wait", "--id", "com.example.thermostat:id/target_temperature", "--text-changes")
        assert run.document["result"] == {"before": "20.0°C", "after": "21.5°C"}

    def test_wrong_forms(self, cli: Cli) -> None:
        for words in (("--text", "x", "--gone", "--text-changes"), ("--app", SHOP, "--text", "x")):
            refused(cli("wait", *words), "EXECUTION_VALIDATION_FAILED")
        refused(cli("action", "wait", "--gone"), "USAGE")
        refused(cli("wait", "--app", "x; reboot"), "EXECUTION_VALIDATION_FAILED")

    def test_it_has_the_device_to_itself_until_it_is_killed(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        command = [*CLI, "wait", "--text", "Dark theme", "--gone"]
        with running([*command, "--timeout", "60000"], stdout=subprocess.DEVNULL) as waiting:
            until(lambda: "wait-" in cli("lock", "status").out)
            busy = refused(cli("click", "--text", "Dark theme"), "EXECUTION_CONFLICT_IN_FLIGHT")
            assert busy["details"]["inFlightCommandId"].startswith("wait-")
            waiting.kill()
            waiting.wait()
        assert cli("click", "--text", "Dark theme", "--wait", "10000").exit_code == 0
        rows = cli("history", "list").document["executions"]
        killed = next(row for row in rows if row["commandId"].startswith("wait-"))
        assert killed["status"] == "interrupted"


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + patience(20)
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


class TestRows:
    ROWS = ("--rows", f"{SHOP}:id/results_list", "--fields")

    def test_the_rows_on_screen(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SHOP, "results", "desk")
        result = cli("read", *self.ROWS, "title=product_title,price=price").document["result"]
        assert result["rows"] == [
            {"title": "Desk lamp", "price": "$32.00"},
            {"title": "Desk <XL>, bamboo & steel", "price": "$279.00"},
        ]
        assert result["position"] == {"scrollable": False, "firstCut": False, "lastCut": False}

    def test_a_list_that_scrolls(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SHOP)
        words = ("--rows", json.dumps({"resourceId": f"{SHOP}:id/deals_list"}), "--fields", "title=product_title")
        result = cli("action", "read", *words).document["result"]
        assert result["position"]["scrollable"] is True
        assert {"title": "Coffee beans 1 kg"} in result["rows"]

    def test_failures(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SHOP, "results", "desk")
        absent = error(cli("read", "--rows", "x:id/list", "--fields", "a=b"))
        assert (absent["code"], absent["message"]) == ("CONTAINER_NOT_FOUND", 'no container with id "x:id/list"')
        found = error(cli("read", *self.ROWS, "a=b"))
        assert (found["code"], "price" in found["details"]["ids"]) == ("NODE_NOT_FOUND", True)
        assert "details.ids" in found["hint"]
        label = error(cli("read", "--rows", '{"textEquals":"Desk lamp"}', "--fields", "a=price"))
        assert label["code"] == "CONTAINER_NOT_FOUND"
        assert label["details"]["node"].endswith("product_title: Desk lamp")
        assert "Select the list" in label["hint"]
        for fields in ("a", "a=", "=b", "a=b,a=c"):
            refused(cli("read", *self.ROWS, fields), "EXECUTION_VALIDATION_FAILED")
        refused(cli("read", *self.ROWS[:2]), "MISSING_ARGUMENT")
        refused(cli("read", *self.ROWS, "a=b", "--text", "x"), "EXECUTION_VALIDATION_FAILED")


class TestInput:
    def test_keys_by_name_and_number(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        assert cli("input", "key", "KEYCODE_back").document["result"] == {"sent": "input keyevent KEYCODE_BACK"}
        assert phone.ui.window().screen.activity == ".Settings"
        run = cli("input", "key", "3")
        assert (run.document["backend"], phone.ui.package) == ("shell", phone.ui.home)
        assert run.document["envelope"]["stepResults"] == [
            {"id": "key", "actionType": "input_key", "success": True, "data": {"dispatched": "input keyevent 3"}}
        ]
        for name in ("ENTR", "0", "401", "4;reboot", "ENTER TAB", ""):
            refused(cli("input", "key", name), "EXECUTION_VALIDATION_FAILED")

    def test_a_point_needs_no_operator(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.uninstall("com.clawperator.operator")
        phone.ui.show(SETTINGS, "display")
        row = next(node for node in phone.ui.window().tree.nodes if node.text == "Dark theme").bounds.center
        run = cli("input", "tap", "--at", f"{row[0]},{row[1]}")
        assert (run.exit_code, phone.ui.setting("system", "dark_theme")) == (0, "1")
        assert error(cli("input", "tap", "--text", "Dark theme"))["code"] == "RECEIVER_NOT_INSTALLED"

    def test_a_selector_is_its_centre(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS, "display")
        run = cli("input", "tap", "--text", "Dark theme")
        assert steps(run) == {"look": "done", "tap": "done"}
        assert phone.ui.setting("system", "dark_theme") == "1"
        assert error(cli("input", "tap", "--text", "Nope"))["code"] == "NODE_NOT_FOUND"

    def test_points_outside_the_turned_screen_are_refused(self, phone: SimulatedDevice, cli: Cli) -> None:
        width, height = phone.ui.display
        point = f"{width - 1},{height - 1}"
        assert cli("input", "tap", "--at", point).exit_code == 0
        phone.ui.put_setting("system", "user_rotation", "1")
        found = refused(cli("input", "tap", "--at", point), "EXECUTION_VALIDATION_FAILED")
        assert found["details"] == {"path": "--at", "screen": [height, width]}
        refused(cli("input", "swipe", "--at", "1,1", f"--to={width},{height}"), "EXECUTION_VALIDATION_FAILED")
        refused(cli("input", "tap", "--at=-1,5"), "EXECUTION_VALIDATION_FAILED")

    def test_swipe_drag_and_long_press(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SETTINGS)
        before = phone.ui.window().xml
        run = cli("input", "swipe", "--at", "500,1800", "--to", "500,600", "--duration-ms", "50")
        assert run.document["result"]["sent"] == "input swipe 500 1800 500 600 50"
        assert phone.ui.window().xml != before
        assert (
            cli("input", "drag", "--at", "5,900", "--to", "5,800")
            .document["result"]["sent"]
            .startswith("input draganddrop 5 900 5 800")
        )
        phone.ui.show("com.example.thermostat")
        cli("input", "long-press", "--desc", "AC tile")
        assert phone.ui.window().screen.activity == ".AcActivity"
        refused(cli("input", "swipe", "--at", "1,1"), "USAGE")
        refused(cli("input", "tap"), "USAGE")
        refused(cli("input", "tap", "--at", "1,1", "--text", "x"), "EXECUTION_VALIDATION_FAILED")

    def test_text(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SHOP, "search")
        cli("click", "--id", FIELD)
        run = cli("input", "text", "a 'b' $(reboot) ;&|")
        assert run.document["result"] == {"sent": "input text", "characters": 19}
        assert phone.ui.state["query"] == "a 'b' $(reboot) ;&|"
        cli("input", "text", "--text", "-", stdin=b"c\n")
        assert phone.ui.state["query"].endswith("|c")

    def test_text_that_input_cannot_type_is_refused(self, phone: SimulatedDevice, cli: Cli) -> None:
        phone.ui.show(SHOP, "search")
        for text in ("tea ☕", "50%s", "a\tb", "a\nb"):
            refused(cli("input", "text", text), "TEXT_NOT_DELIVERED")
        assert phone.ui.state["query"] == ""

    def test_a_refusal_of_android_is_a_failed_step(
        self, phone: SimulatedDevice, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise CommandError(
                "Error: Injecting input events requires the caller to have the INJECT_EVENTS permission."
            )

        monkeypatch.setattr(phone.input, "tap", refuse)
        run = cli("input", "tap", "--at", "1,1")
        assert (error(run)["code"], steps(run)) == ("GESTURE_FAILED", {"tap": "failed"})
        assert "INJECT_EVENTS" in error(run)["message"]

    def test_the_text_is_not_in_the_log(self, phone: SimulatedDevice, cli: Cli, lonely: dict[str, str]) -> None:
        cli("input", "text", "secret-word", "--log-level", "debug")
        logs = [path.read_text() for path in Path(lonely["HOME"]).rglob("*.log")]
        assert logs
        assert not any("secret-word" in log for log in logs)


class TestHelpForAgents:
    def test_explain_is_help_errors(self, cli: Cli) -> None:
        facts = cli("explain", "node_not_found").document
        assert (facts["code"], facts["retry"], facts["http"]) == ("NODE_NOT_FOUND", "observe", 200)
        assert cli("explain", "NODE_NOT_FOUND", "--output", "pretty").out == cli("help", "errors", "NODE_NOT_FOUND").out
        assert "NODE_NOT_FOUND" in refused(cli("explain", "NODE_NOT_FOND"), "USAGE")["hint"]
        refused(cli("explain"), "MISSING_ARGUMENT")

    def test_the_guide_names_commands_that_exist(self, cli: Cli) -> None:
        text = cli("guide").out
        assert " ".join(cli("guide", "--json").document["guide"].split()) == " ".join(text.split())
        named = [words.partition(" --")[0] for words in re.findall(r"`clawperator ([a-z -]+)", text)]
        assert len(named) > 8
        assert {words.strip() for words in named} <= COMMANDS.keys()
