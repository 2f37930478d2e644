"""The fields of a step's form: all of the contract's parameters, as lines and back."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.executions.validate import validate
from clawperator.widgets import keys
from clawperator.widgets.text.action_fields import ActionField, action_fields, line_of, value_of
from tests.support import table

NODE = {"resourceId": "com.a:id/title", "textEquals": 'say "hi" \\ now'}
SAMPLES: dict[str, Any] = {
    "applicationId": "com.a.b",
    "uri": "geo:0,0",
    "coordinate": {"x": 1, "y": 2},
    "text": "two words",
    "path": "/tmp/a b.png",
    "validatorPattern": "[0-9]+ x=y",
    "distanceRatio": 0.5,
    "expectedPackage": "com.a",
    "sessionId": "s-1",
    "retry": {"maxAttempts": 2, "backoffMultiplier": 1.5},
    "start": {"x": 1, "y": 2},
    "end": {"x": 3, "y": 4},
    "template": "two {words}",
    "textColor": "#ffffff",
    "backgroundColor": "#80000000",
    "notificationKey": "0|a.b|1|null|10001",
    "actionId": "reply",
    "mediaSessionId": "session-1",
}


def sample(field: ActionField) -> Any:
    if field.name in SAMPLES:
        return SAMPLES[field.name]
    if field.type == "object":
        return {"maxAttempts": 3}
    return {"matcher": NODE, "boolean": True, "integer": 2}.get(field.type) or field.values[0]


@table("kind", ACTIONS)
def test_every_parameter_has_a_field_whose_line_reads_back(kind: str) -> None:
    fields = action_fields(kind)
    model = ACTIONS[kind].model_fields
    assert {field.name for field in fields} == {*model, "id"}
    for field in fields[:-1]:
        assert field.required == model[field.name].is_required()
        assert field.help
        assert field.meaning
        value = sample(field)
        assert value_of(field, line_of(field, value), None) == value
    required = [field.required for field in fields[:-1]]
    assert required == sorted(required, reverse=True), "required ones first"


@table("kind", ACTIONS)
def test_the_menu_offers_every_type_once(kind: str) -> None:
    entries = keys.MENUS["add_step"]
    assert [item.id for item in entries].count(kind) == 1
    assert len({item.key for item in entries}) == len(entries) == len(ACTIONS)


def test_what_is_not_of_its_type_stays_for_the_validator() -> None:
    fields = {field.name: field for field in [*action_fields("sleep"), *action_fields("click")]}
    assert value_of(fields["durationMs"], "1s", None) == "1s"
    assert value_of(fields["coordinate"], "x=1 y", None) == {"x": 1, "y": ""}
    assert value_of(fields["coordinate"], '{"x": 1}', None) == {"x": 1}
    assert line_of(fields["durationMs"], [1]) == "[1]"
    assert line_of(fields["matcher"], {"textEquals": 3}) == '{"textEquals": 3}'
    assert line_of(fields["coordinate"], {"x": "left"}) == '{"x": "left"}'
    assert value_of(fields["matcher"], '{"ref": "a3"}', None) == {"ref": "a3"}
    with pytest.raises(ValueError, match="missing field"):
        value_of(fields["matcher"], "Wi-Fi", None)


def test_the_samples_are_valid_steps() -> None:
    """So that the lines above are those of payloads that a device would get."""
    click = {"id": "a", "type": "click", "params": {"matcher": NODE, "retry": SAMPLES["retry"]}}
    validate(
        {
            "commandId": "c",
            "taskId": "t",
            "source": "s",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": 9000,
            "actions": [click],
        }
    )
