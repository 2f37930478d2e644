"""What an older Operator would not understand is refused before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.command_table import COMMANDS as CLI_COMMANDS
from clawperator.engine.contracts.generation import (
    fits_every_generation,
    host_chooses,
    lacking_words,
    requirement,
    support_table,
)
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import require_generation, validate
from tests.support import table

NODE = {"role": "button"}


def execution(action_type: str, **params: Any) -> Any:
    return validate(
        {
            "commandId": "c",
            "taskId": "t",
            "source": "s",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": 5000,
            "actions": [{"id": "first", "type": "snapshot_ui"}, {"id": "a", "type": action_type, "params": params}],
        }
    ).execution


NEWER = [
    ("wait_for_navigation", {"expectedPackage": "a.b", "timeoutMs": 1}, "type", "0.3.2"),
    ("read_key_value_pair", {"labelMatcher": NODE}, "type", "0.3.2"),
    ("start_recording", {}, "type", "0.3.2"),
    ("stop_recording", {}, "type", "0.3.2"),
    ("read_text", {"matcher": NODE, "validator": "version"}, "params.validator", "0.3.2"),
    ("read_text", {"matcher": NODE, "validator": "regex", "validatorPattern": "x"}, "params.validator", "0.3.2"),
    ("read_text", {"matcher": NODE, "validatorPattern": "x"}, "params.validatorPattern", "0.3.2"),
    ("scroll_until", {"matcher": NODE}, "params.matcher", "0.3.2"),
    ("scroll_until", {"clickAfter": False}, "params.clickAfter", "0.3.2"),
    ("scroll_until", {"clickType": "focus"}, "params.clickType", "0.3.2"),
    ("click", {"coordinate": {"x": 1, "y": 1}}, "params.coordinate", "0.5"),
    ("wait_for_node", {"matcher": NODE, "timeoutMs": 5}, "params.timeoutMs", "0.5"),
    ("read_text", {"matcher": NODE, "all": True}, "params.all", "0.5"),
    ("scroll_and_click", {"target": {"role": "list", "ancestor": NODE}}, "params.target.ancestor", "0.10"),
]


@table(("action_type", "params", "path", "since"), NEWER)
def test_newer_things_are_refused_for_older_operators(
    action_type: str, params: dict[str, Any], path: str, since: str
) -> None:
    plan = execution(action_type, **params)
    assert not fits_every_generation(plan)
    with pytest.raises(EngineError) as caught:
        require_generation(plan, "0.3.1")
    assert caught.value.code is ErrorCode.EXECUTION_ACTION_UNSUPPORTED
    assert caught.value.details == {
        "path": f"actions.1.{path}",
        "actionId": "a",
        "actionType": action_type,
        "requiresApk": since,
        "apkVersion": "0.3.1",
    }
    for version in ("0.10.0", "1.0", "v0.12.5") if since == "0.10" else ("0.5.0", "0.5.3-d", "1.0", "v0.6.1"):
        require_generation(plan, version)
    if since == "0.3.2":
        require_generation(plan, "0.3.2-d")


@table(
    ("action_type", "params", "since"),
    [
        ("read_text", {"matcher": NODE, "container": NODE}, "0.5"),
        ("read_text", {"matcher": NODE, "strict": True}, "0.10"),
        ("click", {"matcher": NODE, "container": NODE}, "0.10"),
        ("click", {"matcher": {"ancestor": NODE}}, "0.10"),
        ("scroll", {"container": {"role": "list", "descendant": NODE}}, "0.10"),
        ("scroll_until", {"container": {"ancestor": NODE}, "matcher": NODE, "strict": True}, "0.10"),
        ("read_key_value_pair", {"labelMatcher": {"ancestor": NODE}}, "0.10"),
        ("click", {"matcher": NODE, "nth": 0}, ""),
        ("enter_text", {"matcher": NODE, "within": NODE, "text": "x"}, ""),
        ("click", {"matcher": {"ref": "e1@00000000"}}, ""),
    ],
)
def test_what_an_older_operator_cannot_choose_the_host_does(
    action_type: str, params: dict[str, Any], since: str
) -> None:
    """``since`` an Operator can; without one it is the host's alone."""
    plan = execution(action_type, **params)
    assert not fits_every_generation(plan)
    require_generation(plan, "0.3.2")
    action = plan.actions[-1]
    assert host_chooses(action, "0.3.2")
    for version in ("0.12.5", "", "unknown", None):
        assert host_chooses(action, version) == (not since)
    if since == "0.5":
        assert not host_chooses(action, "0.5.0")


@pytest.mark.parametrize(
    ("action_type", "params"),
    [
        ("click", {"matcher": NODE, "clickType": "long_click"}),
        ("read_text", {"matcher": NODE, "validator": "temperature"}),
        ("scroll_and_click", {"target": NODE, "clickAfter": True, "clickType": "focus"}),
        ("scroll_until", {"maxScrolls": 3}),
        ("snapshot_ui", {"timeoutMs": 5, "coordinate": {"x": 1, "y": 1}}),
    ],
)
def test_the_first_generation_suffices_for_the_rest(action_type: str, params: dict[str, Any]) -> None:
    plan = execution(action_type, **params)
    assert fits_every_generation(plan)
    require_generation(plan, "0.3.0")


@pytest.mark.parametrize("version", ["", "unknown", "dev", "v"])
def test_an_unreadable_version_refuses_nothing(version: str) -> None:
    require_generation(execution("start_recording"), version)


# -- the table


def test_the_table_says_what_is_refused() -> None:
    rows = {row.action: row for row in support_table()}
    for action_type, _, path, since in NEWER:
        row = rows[action_type]
        if path.count(".") > 1:
            continue  # relations: of any matcher
        if path == "type":
            assert row.lacking("0.3.1") is None
            assert row.words("0.3") == "no"
        else:
            assert path.removeprefix("params.") in " ".join(row.lacking("0.3.1") or ())
            assert row.words("0.3").startswith("without ")
        assert row.words("0.10") == "yes", since
        if since != "0.10":
            assert path.removeprefix("params.") not in " ".join(row.lacking("0.5.0") or ()), since


def test_every_command_of_the_table_says_in_its_help_what_it_requires() -> None:
    """Refusals, the table and help texts have the same words, but for what the host does for an older app."""
    by_host = ("container", "strict")
    for row in support_table():
        assert row.command in CLI_COMMANDS
        help_text = " ".join(build_parser(load(row.command)).format_help().split())
        versions = {since for name, since in row.later if name not in by_host} | ({row.since} - {"0.3"})
        for since in versions:
            assert requirement(since) in help_text, row.command


def test_what_an_installed_operator_lacks() -> None:
    assert lacking_words("0.12.5") == "", "drag is left to Android's input below"
    assert lacking_words("0.11.3") == ""
    assert lacking_words("0.10.0").startswith("toast, notifications list, ")
    assert "wait (container, strict), click (container, strict), read (strict)" in lacking_words("0.9.5")
    assert lacking_words("0.3.1").startswith("wait-for-nav, read-value, record start, record stop, query, toast, ")
    assert "wait (timeoutMs, container, strict)" in lacking_words("0.3.1")
    assert "read-value" not in lacking_words("0.3.2")
