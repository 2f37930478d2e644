"""What an older Operator would not understand is refused before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.contracts.generation import fits_every_generation
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import require_generation, validate

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
    ("read_text", {"matcher": NODE, "container": NODE}, "params.container", "0.5"),
]


@pytest.mark.parametrize(("action_type", "params", "path", "since"), NEWER)
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
    for version in ("0.5.0", "0.5.3-d", "1.0", "v0.6.1"):
        require_generation(plan, version)
    if since == "0.3.2":
        require_generation(plan, "0.3.2-d")


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
