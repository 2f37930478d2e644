"""An Operator app that is newer than all supported versions: it is used, the doctor warns, and a missing result names it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawperator.engine import EngineError
from clawperator.engine.errors import ErrorCode
from tests.journeys.conftest import Connect
from tests.journeys.test_operator_generations import LOOK, MISS, plan
from tests.support import CLI, ran

pytestmark = pytest.mark.adb
WORDS = "com.androperator.operator 1.7.0 is newer than what clawperator"


def app(version: str) -> dict[str, Any]:
    return {"device": {"generation": "1.0"}, "operator": {"version_name": version}}


async def test_the_doctor_warns_and_goes_on(connect: Connect) -> None:
    bench = await connect(**app("1.7.0"))
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    found = checks["readiness.version.compatibility"]
    assert (found.status, found.code) == ("warn", ErrorCode.VERSION_INCOMPATIBLE)
    assert found.summary.startswith(WORDS)
    assert found.evidence is not None
    assert found.evidence["apkVersion"] == "1.7.0"
    assert checks["readiness.handshake"].status == "pass"


async def test_the_doctor_stops_at_a_version_between_the_supported_ones(connect: Connect) -> None:
    bench = await connect(device={"generation": "0.12"}, operator={"version_name": "0.13.0"})
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    assert checks["readiness.version.compatibility"].status == "fail"
    assert "readiness.handshake" not in checks or checks["readiness.handshake"].status != "pass"


@pytest.mark.parametrize("version", ["1.7.0", "1.1.0"])
async def test_a_plan_runs_with_a_warning_that_names_a_newer_version(connect: Connect, version: str) -> None:
    """On every face: it is one of the answer's warnings. The version is read once, beside the first command."""
    bench = await connect(**app(version))
    for number in range(2):
        result = await bench.engine.execute(plan(LOOK, command_id=f"look-{number}"))
        assert result.outcome.status == "succeeded"
        warnings = [each for each in result.warnings if each["code"] == "VERSION_INCOMPATIBLE"]
        assert [each["message"].startswith(WORDS) for each in warnings] == [True] * (version == "1.7.0")
        assert bench.engine._probe._versions == {(bench.serial, "com.androperator.operator"): version}


async def test_a_failed_plan_has_the_warning_too_and_a_composition_has_it_once(connect: Connect) -> None:
    bench = await connect(**app("2.0.0"))
    failed = await bench.engine.execute(plan(MISS))
    assert (failed.outcome.status, [each["code"] for each in failed.warnings]) == ("failed", ["VERSION_INCOMPATIBLE"])
    code, out, _ = await ran(*CLI, "press", "home", "--then", "compact", "--device-id", bench.serial, env=bench.env)
    assert (code, [each["code"] for each in json.loads(out)["warnings"]]) == (0, ["VERSION_INCOMPATIBLE"])


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"kind": "silence"}, "RESULT_ENVELOPE_TIMEOUT"),
        ({"kind": "malformed_envelope", "how": "wrong_types"}, "RESULT_ENVELOPE_MALFORMED"),
        ({"kind": "lost_records"}, "RESULT_ENVELOPE_MALFORMED"),
    ],
)
@pytest.mark.parametrize("version", ["1.7.0", "1.1.0"])
async def test_a_missing_result_names_a_newer_version(
    connect: Connect, fault: dict[str, Any], code: str, version: str
) -> None:
    bench = await connect(speed=0.2, faults=[fault], **app(version))
    with pytest.raises(EngineError) as caught:
        await bench.engine.execute({**plan(LOOK), "timeoutMs": 1_000})
    error = caught.value.to_dict()
    assert error["code"] == code
    newer = version == "1.7.0"
    assert error["hint"].startswith(WORDS) is newer
    assert (error["details"].get("apkVersion") == version) is newer
