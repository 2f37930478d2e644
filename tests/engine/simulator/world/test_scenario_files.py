"""Scenario files: what they may say, and messages that name file and line."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.simulator.scenario import FAULTS, MAX_SCENARIO_BYTES, Scenario, load_scenario, parse_scenario
from tests.support import table


def problem(text: str | bytes) -> str:
    with pytest.raises(EngineError) as caught:
        parse_scenario(text, "flaky.yaml")
    assert caught.value.code is ErrorCode.SCENARIO_INVALID
    return caught.value.args[0] if isinstance(caught.value.args[0], str) else str(caught.value)


def test_an_empty_file_is_a_healthy_device() -> None:
    assert parse_scenario("") == Scenario()
    assert parse_scenario("# nothing\n") == parse_scenario(b"\xef\xbb\xbf# nothing\n") == Scenario()


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    file = tmp_path / "late.yaml"
    file.write_text("name: late\nspeed: 0.5\nfaults:\n  - {kind: late_envelope, delay_ms: 10}\n")
    scenario = load_scenario(file)
    assert (scenario.name, scenario.speed) == ("late", 0.5)
    assert [fault.model_dump(exclude_unset=True) for fault in scenario.faults] == [
        {"kind": "late_envelope", "delay_ms": 10}
    ]
    file.write_text("speed: fast\n")
    with pytest.raises(EngineError, match=r"late\.yaml:1: speed: "):
        load_scenario(str(file))
    with pytest.raises(EngineError, match=r"none\.yaml cannot be read: No such file"):
        load_scenario(tmp_path / "none.yaml")


@table(
    ("text", "message"),
    [
        ("a: 1", "flaky.yaml:1: a: Extra inputs"),
        ("name: x\nfaults:\n  - kind: silence\n    copies: 3\n", "flaky.yaml:4: faults.0.copies: Extra inputs"),
        ("faults:\n  - {kind: silence}\n  - {kind: bang}\n", "flaky.yaml:3: faults.1: Input tag 'bang'"),
        ("faults:\n  - {kind: silence}\n  -\n    copies: 2\n", "flaky.yaml:4: faults.1: Unable to extract tag"),
        ("device:\n  sdk: eleven\n", "flaky.yaml:2: device.sdk: "),
        ("faults:\n  - {kind: late_envelope}\n", "flaky.yaml:2: faults.0.delay_ms: is missing"),
        ("speed: 1\nspeed: 2\n", "flaky.yaml:2: the key 'speed' is a duplicate"),
        ("a: &x 1\nb: *x\n", "flaky.yaml:1: anchors and aliases are not supported"),
        ("x: [1\n", "flaky.yaml:2: "),
        pytest.param("[" * 2000, "flaky.yaml:1: nested more than 32 levels deep", id="deep"),
        ("- 1\n", "flaky.yaml:1: a scenario is a mapping"),
        ("? [a]\n: 1\n", "flaky.yaml:1: a key must be text"),
        ("name: !!python/object:os.system x\n", "flaky.yaml:1: tags are not supported"),
        (b"\xff\xfe\x00", "flaky.yaml: "),
        pytest.param("#" * (MAX_SCENARIO_BYTES + 1), "flaky.yaml: larger than ", id="large"),
    ],
)
def test_problems_name_file_and_line(text: str | bytes, message: str) -> None:
    assert message in problem(text)


def test_every_fault_has_a_kind_of_its_own_and_is_documented_in_one_word() -> None:
    kinds = [typing.get_args(fault.model_fields["kind"].annotation)[0] for fault in FAULTS]
    assert kinds == [fault.__name__ for fault in FAULTS]
    assert all(fault.__doc__ for fault in FAULTS)
    assert len(kinds) == len(set(kinds))
    for kind in kinds:
        extra = {"delay_ms": 1} if kind == "late_envelope" else {"extra_ms": 1} if kind == "slow_action" else {}
        extra = {"lines_per_second": 1} if kind == "noise" else extra
        assert Scenario.model_validate({"faults": [{"kind": kind, **extra}]}).faults[0].kind == kind


def test_a_fault_hits_by_number_and_pattern() -> None:
    given_faults = [{"kind": "silence", "commands": [1, 3], "command_id": "a*"}, {"kind": "crash", "step": 2}]
    scenario = Scenario.model_validate({"faults": given_faults})
    hits = [scenario.of_command("silence", *place) for place in ((1, "abc"), (2, "abc"), (3, "b"))]
    assert [hit is not None for hit in hits] == [True, False, False]
    assert scenario.of_command("crash", 9, "", step=2).step == 2
    assert scenario.of_command("crash", 9, "", step=1) is None


@given(st.text() | st.binary())
def test_any_text_is_a_scenario_or_a_refused(text: str | bytes) -> None:
    try:
        parse_scenario(text)
    except EngineError as error:
        code = error.code
    else:
        code = ErrorCode.SCENARIO_INVALID
    assert code is ErrorCode.SCENARIO_INVALID
