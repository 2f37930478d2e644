"""JSON templates: exact substitution, ids that follow from skill and variables, and refusals that say where."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.engine.config.policy import CAPABILITIES, DEFAULT, Rules
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.json_template import compile_template, template_capabilities, template_inputs
from clawperator.engine.skills.variables import MAX_VARS, checked, in_order, parse_vars, text_of
from tests.support import table

SKILL, NAME, FILE = "com.example.app.read", "status", "skills/x/artifacts/status.recipe.json"
ACTION: dict[str, Any] = {
    "id": "say",
    "type": "enter_text",
    "params": {"matcher": {"role": "textfield"}, "text": "{{TEXT}}"},
}


def template(*actions: dict[str, Any], **root: Any) -> str:
    payload = {
        "commandId": "{{COMMAND_ID}}",
        "taskId": "{{TASK_ID}}",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 30000,
        "actions": list(actions or (ACTION,)),
    }
    return json.dumps({**payload, **root}, indent=1)


def compiled(text: str, variables: dict[str, Any] | None = None) -> Compiled:
    return compile_template(text, checked(variables or {}), SKILL, NAME, file=FILE)


def refusal(text: str, code: str, variables: dict[str, Any] | None = None) -> EngineError:
    with pytest.raises(EngineError) as caught:
        compiled(text, variables)
    error = caught.value
    assert error.code == code, error
    assert (error.details["skillId"], error.details["artifactName"], error.details["file"]) == (SKILL, NAME, FILE)
    assert error.hint
    return error


def digest(variables: str) -> str:
    text = '{"skillId":"com.example.app.read","artifactName":"status","vars":' + variables + "}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_what_comes_of_a_template() -> None:
    answer = compiled(template(), {"TEXT": "shoes"})
    ids = digest('{"TEXT":"shoes"}')
    assert answer.to_dict() == {
        "execution": {
            "commandId": f"cmd-{ids}",
            "taskId": f"task-{ids}",
            "source": "test",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": 30000,
            "actions": [
                {"id": "say", "type": "enter_text", "params": {"matcher": {"role": "textfield"}, "text": "shoes"}}
            ],
            "mode": "artifact_compiled",
        }
    }
    assert (answer.recipe, answer.outputs, answer.confirms, answer.capabilities) == (None, (), (), ())
    assert compiled(template(mode="direct"), {"TEXT": "x"}).execution["mode"] == "artifact_compiled"


def test_ids_are_over_the_variables_as_given() -> None:
    given = {"\U0001f600": "1", "\uffff": 2, "TEXT": 'q"\\\n\u2028é', "b": True, "a": 1.0, "c": 0.5}
    text = '{"TEXT":"q\\"\\\\\\n\u2028é","a":"1","b":"true","c":"0.5","\U0001f600":"1","\uffff":"2"}'
    assert compiled(template(), given).execution["commandId"] == f"cmd-{digest(text)}"
    chosen = {"TEXT": "x", "COMMAND_ID": "mine"}
    execution = compiled(template(), chosen).execution
    assert execution["commandId"] == "mine"
    assert (
        execution["taskId"] == f"task-{digest(json.dumps({'COMMAND_ID': 'mine', 'TEXT': 'x'}, separators=(',', ':')))}"
    )


def test_empty_ids_are_generated() -> None:
    given = compiled(template(), {"TEXT": "x"}).execution
    assert compiled(template(), {"TEXT": "x", "COMMAND_ID": "", "TASK_ID": ""}).execution == given


def test_the_order_is_that_of_code_units() -> None:
    assert list(in_order({"\uffff": "", "\U0001f600": "", "a": "", "B": "", "": ""})) == [
        "",
        "B",
        "a",
        "\U0001f600",
        "\uffff",
    ]


@table(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e21, "1e+21"),
        (1e-7, "0.0000001"),
        (9.5e-8, "9.5e-8"),
        (1e20, "100000000000000000000"),
        (True, "true"),
        ("x", "x"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_scalars_as_text(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize("variables", [{}, {"TEXT": ""}, {"text": "x"}])
def test_a_variable_is_missing(variables: dict[str, str]) -> None:
    error = refusal(template(), "COMPILE_VAR_MISSING", variables)
    assert error.message == "Missing required variable: TEXT"
    assert error.details["placeholder"] == "TEXT"


def test_the_first_in_the_file_is_named() -> None:
    two = {**ACTION, "params": {"matcher": {"textEquals": "{{Z}}{{A}}"}, "text": "{{TEXT}}"}}
    assert refusal(template(two), "COMPILE_VAR_MISSING", {"TEXT": "x"}).details["placeholder"] == "Z"


def test_only_exact_placeholders() -> None:
    text = "{{ TEXT }} {TEXT} {{TE-XT}} {{}} {{TEXT}}} {{{TEXT}}"
    say = {**ACTION, "params": {**ACTION["params"], "text": text}}
    (action,) = compiled(template(say), {"TEXT": "x"}).execution["actions"]
    assert action["params"]["text"] == "{{ TEXT }} {TEXT} {{TE-XT}} {{}} x} {x"


@given(
    st.text(alphabet=st.sampled_from("{}$\"'\\\n\r\t/é\U0001f600 aTEX\u2028\x00\x7f"), min_size=1, max_size=40).filter(
        lambda text: text.strip(" \n\r\t")
    )
)
@example("{{TEXT}}")
@example("{{OTHER}}")
@example('","actions":[{{COMMAND_ID}}]')
def test_any_value_arrives_as_it_is(value: str) -> None:
    """What a value contains is never expanded, and never becomes JSON."""
    say = {**ACTION, "params": {**ACTION["params"], "text": "[{{TEXT}}|{{OTHER}}]"}}
    (action,) = compiled(template(say), {"TEXT": value, "OTHER": "{{TEXT}}"}).execution["actions"]
    assert action["params"]["text"] == f"[{value}|{{{{TEXT}}}}]"


@given(st.permutations(["TEXT", "OTHER", "x", "COMMAND_ID"]))
def test_the_order_of_variables_is_irrelevant(order: list[str]) -> None:
    variables = {"TEXT": "a", "OTHER": 1, "x": False, "COMMAND_ID": "c"}
    reference = compiled(template(), variables)
    assert json.dumps(compiled(template(), {name: variables[name] for name in order}).to_dict()) == json.dumps(
        reference.to_dict()
    )


def test_unused_variables_are_reported() -> None:
    document = compiled(template(), {"TEXT": "x", "TEXTS": 1}).to_dict()
    assert [(warning["code"], warning["path"]) for warning in document["warnings"]] == [("VAR_UNUSED", "TEXTS")]


@table(
    ("text", "facts"),
    [
        ("{", {"cause": "EXECUTION_VALIDATION_FAILED"}),
        ("[]", {"path": ""}),
        (template(expectedFormat="x"), {"path": "expectedFormat"}),
        (template(timeoutMs=5), {"path": "timeoutMs"}),
        (
            template({**ACTION, "type": "fly"}),
            {"cause": "EXECUTION_ACTION_UNSUPPORTED", "actionId": "say", "actionType": "fly"},
        ),
        (template({**ACTION, "tpye": "x"}), {"invalidKeys": ["tpye"]}),
        (
            template({"id": "s", "type": "snapshot_ui", "params": {"depth": 3}}),
            {"invalidKeys": ["depth"], "actionId": "s"},
        ),
        (
            template(
                *(
                    {
                        **ACTION,
                        "id": f"a{n}",
                        "params": {"matcher": {"textEquals": "é" * 512, "textContains": "é" * 512}, "text": "é" * 512},
                    }
                    for n in range(30)
                )
            ),
            {"cause": "PAYLOAD_TOO_LARGE"},
        ),
        (template().replace('"source"', '"taskId": "t", "source"'), {"invalidKeys": ["taskId"]}),
    ],
    ids=range(9),
)
def test_what_is_no_execution(text: str, facts: dict[str, Any]) -> None:
    error = refusal(text, "COMPILE_VALIDATION_FAILED", {"TEXT": "x"})
    assert {key: error.details[key] for key in facts} == facts
    assert NAME in error.message


@pytest.mark.parametrize("value", ["30000", '1, "x": 2', "[1]"])
def test_placeholders_outside_of_strings_are_mistakes(value: str) -> None:
    """Whether or not JSON comes of it: a value could be anything there."""
    text = template().replace("30000", "{{TIME}}")
    error = refusal(text, "COMPILE_VALIDATION_FAILED", {"TEXT": "x", "TIME": value})
    assert "{{TIME}} inside a string" in error.hint


def test_a_policy_may_refuse_it() -> None:
    with pytest.raises(EngineError) as caught:
        compile_template(
            template(), {"TEXT": "x"}, SKILL, NAME, profile=DEFAULT._replace(capabilities=Rules(deny=("type_text",)))
        )
    assert caught.value.code == "CAPABILITY_DENIED"
    assert (caught.value.details["actionId"], caught.value.details["skillId"]) == ("say", SKILL)


def test_inputs_for_forms() -> None:
    text = '{"a": "{{B_NAME}} {{COMMAND_ID}} {{a1}} {{B_NAME}} {{TASK_ID}}"}'
    assert [(item.name, item.type, item.required, item.personal) for item in template_inputs(text)] == [
        ("B_NAME", "string", True, True),
        ("a1", "string", True, False),
    ]


# -- variables


def test_variables() -> None:
    assert parse_vars(None) == {}
    assert parse_vars("") == {}
    assert parse_vars("{}") == {}
    assert parse_vars('{"a":"x","b":1,"c":1.5,"d":false,"é":""}') == {"a": "x", "b": 1, "c": 1.5, "d": False, "é": ""}


@table(
    "text",
    [
        " ",
        "x",
        "[]",
        '"a"',
        "5",
        "null",
        "{",
        '{"a":}',
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":1e999}',
        '{"a":null}',
        '{"a":[]}',
        '{"a":{}}',
        '{"a":' + "[" * 100_000,
        '{"a":' + "9" * 10_000 + "}",
        '{"a":"' + "x" * MAX_VARS + '"}',
        "{'a':1}",
    ],
    ids=lambda value: value[:20],
)
def test_variables_that_are_none(text: str) -> None:
    with pytest.raises(EngineError) as caught:
        parse_vars(text)
    error = caught.value
    assert (error.code, error.message) == ("COMPILE_VARS_PARSE_FAILED", "Invalid --vars JSON")
    assert error.details["varsJson"] == text[:2000]
    assert error.details["reason"]
    assert error.hint


_POINTS: st.SearchStrategy[Any] = st.sampled_from(
    ("{{X}}", None, True, 1, [1, 2], {"x": 1, "y": 2}, {"x": 10**400}, {"x": "1"}, [[], {}])
)


@given(
    st.sampled_from(("swipe", "drag", "input_swipe", "input_drag", "input_tap", "scroll", "click", "?", "")),
    st.dictionaries(
        st.sampled_from(
            ("at", "to", "start", "end", "durationMs", "moveDurationMs", "distanceRatio", "key", "clickType")
        ),
        _POINTS,
    ),
)
@example("input_drag", {"at": True, "to": [1, 2]})
@example("swipe", {"start": {"x": 10**400}, "end": {"x": 1}})
def test_a_template_may_have_anything_where_its_capabilities_depend_on_it(kind: str, params: dict[str, Any]) -> None:
    assert set(template_capabilities(json.dumps({"actions": [{"type": kind, "params": params}]}))) <= {*CAPABILITIES}
