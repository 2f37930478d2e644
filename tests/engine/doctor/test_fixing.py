"""Which steps are run for people, what is shown of them before, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.doctor import host
from clawperator.engine.doctor.check import Check, manual, shell
from clawperator.engine.doctor.fix import Fixer, PlannedFix
from clawperator.engine.doctor.fix_commands import FixCommand, fix_commands
from clawperator.engine.doctor.readiness import granting
from clawperator.engine.doctor.run import next_actions, report
from clawperator.engine.errors import ErrorCode
from clawperator.engine.progress import Stage
from tests.engine.doctor.conftest import Admit, write_tool

SERIAL, PACKAGE = "emulator-5554", "com.clawperator.operator"
GRANT = f"clawperator grant-device-permissions --device-id {SERIAL} --receiver-package {PACKAGE}"
LOOK = f"clawperator observe snapshot --device-id {SERIAL} --receiver-package {PACKAGE} --timeout-ms 5000 --verbose"


OTHER = "com.androperator.operator.dev"
KNOWN = {
    "adb kill-server": FixCommand("kill-server"),
    "adb start-server": FixCommand("start-server"),
    GRANT: FixCommand("grant-device-permissions", SERIAL, PACKAGE),
    f"{GRANT} --force": FixCommand("grant-device-permissions", SERIAL, PACKAGE, force=True),
    LOOK: FixCommand("snapshot", SERIAL, PACKAGE),
    GRANT.replace(PACKAGE, OTHER): FixCommand("grant-device-permissions", SERIAL, OTHER),
}


def planned(fixer: Fixer, *steps: str, device_id: str = SERIAL) -> tuple[PlannedFix, ...]:
    return fixer.plan([failing(shell(*steps))], device_id)


async def test_known_steps_are_values(admit: Admit) -> None:
    fixer = (await admit()).engine.fixer()
    assert {fix.step: fix.command for fix in planned(fixer, *KNOWN)} == KNOWN
    assert [fix.step for fix in planned(fixer, *KNOWN, device_id="")] == ["adb kill-server", "adb start-server"]


async def test_everything_else_is_left_to_people(admit: Admit) -> None:
    steps = [
        "", "nvm install 22", "adb -s x kill-server", "adb kill-server; rm -rf /", "adb kill-server\nreboot", "sudo adb kill-server",
        "adb shell reboot", f"{GRANT} --force --force", f"{GRANT}; reboot", f"{GRANT} extra", GRANT.replace(SERIAL, "another"),
        "clawperator grant-device-permissions --device-id x --receiver-package 'a; reboot'", "clawperator operator setup --apk /x/o.apk",
        "clawperator execute --execution x", "'adb kill-server", "adb kill-server " + "x" * 5000,
    ]  # fmt: skip
    assert planned((await admit()).engine.fixer(), *steps) == ()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=30).filter(str.isprintable))
def test_what_the_doctor_writes_is_known_whatever_the_serial(serial: str) -> None:
    known = fix_commands(serial, [PACKAGE])
    for force in (False, True):
        (step,) = granting(serial, PACKAGE, force=force)
        assert known[step.value] == FixCommand("grant-device-permissions", serial, PACKAGE, force=force)


def failing(*steps: Any, check_id: str = "readiness.handshake") -> Check:
    return Check(check_id, "fail", "no", fix_title="Mend", fix=tuple(step for group in steps for step in group))


async def test_the_plan_holds_each_known_step_once_in_order(admit: Admit) -> None:
    fixer = (await admit()).engine.fixer()
    checks = [
        Check("a", "pass", "fine", fix=shell("adb start-server")),
        failing(shell("adb kill-server", "nvm install 22", "adb start-server"), check_id="b"),
        failing(manual("adb kill-server"), shell("adb start-server", LOOK), check_id="c"),
        failing(shell(LOOK.replace(SERIAL, "another")), check_id="d"),
    ]
    for given_checks in (checks, [check.to_dict() for check in checks]):
        plan = fixer.plan(given_checks, SERIAL)
        assert [(fix.check_id, fix.step, fix.dangerous) for fix in plan] == [
            ("b", "adb kill-server", True),
            ("b", "adb start-server", False),
            ("c", LOOK, False),
        ]
        assert plan[0].preview == (f"adb -P {fixer._engine.server.address.port} kill-server",)


@pytest.mark.parametrize(
    "data", [{}, {"fix": None}, {"fix": {"steps": "adb kill-server"}}, {"fix": {"steps": [1, {}]}}]
)
async def test_data_of_another_shape_plans_nothing(admit: Admit, data: dict[str, Any]) -> None:
    assert (await admit()).engine.fixer().plan([{"status": "fail", **data}], "") == ()


async def test_granting_makes_the_device_well(admit: Admit) -> None:
    patient = await admit(faults=[{"kind": "service_down", "how": "crashed"}])
    fixer = patient.engine.fixer()
    plan = fixer.plan(await patient.checks(), SERIAL)
    assert [fix.step for fix in plan] == [f"{GRANT} --force"]
    (other,) = fixer.plan([{"status": "fail", "fix": {"steps": [{"kind": "shell", "value": GRANT}]}}], SERIAL)
    forced, plain = plan[0].preview, other.preview
    assert all(line.startswith(f"adb -s {SERIAL} shell ") for line in (*forced, *plain))
    assert [line for line in forced if line not in plain] == [
        f"adb -s {SERIAL} shell settings put --user current secure enabled_accessibility_services <the list without the service of {PACKAGE}>"
    ]
    stages: list[Stage] = []
    results = [await fixer.run(fix, stages.append) for fix in plan]
    assert [result.ok for result in results] == [True]
    assert PACKAGE in results[0].output
    own = [stage for stage in stages if stage.job == "fix"]
    assert [(stage.name, stage.state) for stage in own] == [
        ("grant-device-permissions", "running"),
        ("grant-device-permissions", "done"),
    ]
    assert all(check.status == "pass" for check in await patient.checks())


async def test_looking_is_a_fix_that_proves_itself(admit: Admit) -> None:
    patient = await admit()
    (fix,) = planned(patient.engine.fixer(), LOOK)
    assert fix.preview == (LOOK,)
    assert (await patient.engine.fixer().run(fix)).ok
    patient.world.settings["secure"]["accessibility_enabled"] = "0"
    failed = await patient.engine.fixer().run(fix)
    assert not failed.ok
    assert failed.to_dict() == {
        "checkId": "readiness.handshake",
        "step": LOOK,
        "ok": False,
        "output": failed.output,
    }
    assert failed.output.startswith("DEVICE_ACCESSIBILITY_NOT_RUNNING: ")


async def test_a_failing_step_is_a_result(admit: Admit) -> None:
    patient = await admit()
    patient.world.disconnect()
    fixer = patient.engine.fixer()
    (grant,) = planned(fixer, GRANT)
    result = await fixer.run(grant)
    assert (result.ok, result.output.partition(":")[0]) == (False, "DEVICE_NOT_FOUND")
    unknown = await fixer.run(PlannedFix("x", "rm -rf /", (), dangerous=False))
    assert (unknown.ok, unknown.output) == (False, "Clawperator does not run this step.")


async def test_a_session_that_may_only_observe_changes_nothing(admit: Admit) -> None:
    patient = await admit(settings={"read_only": True})
    fixer = patient.engine.fixer()
    for fix in planned(fixer, GRANT, "adb kill-server", "adb start-server"):
        result = await fixer.run(fix)
        assert (result.ok, result.output.partition(":")[0]) == (False, "READ_ONLY")
    (look,) = planned(fixer, LOOK)
    assert (await fixer.run(look)).ok


async def test_the_adb_program_is_what_ends_its_server(admit: Admit, tools: Path) -> None:
    patient = await admit(env={"ADB_PATH": str(tools / "adb")})
    fixer = patient.engine.fixer()
    kill, begin = planned(fixer, "adb kill-server", "adb start-server")
    write_tool(patient.tools, "adb", 'echo "called with $*"')
    done = await fixer.run(kill)
    assert (done.ok, done.output) == (True, f"called with -P {patient.engine.server.address.port} kill-server")
    write_tool(patient.tools, "adb", "echo cannot >&2; exit 1")
    assert (await fixer.run(kill)).output == "ADB_SERVER_FAILED: cannot"
    (patient.tools / "adb").unlink()
    assert (await fixer.run(kill)).output.startswith("ADB_NOT_FOUND: ")
    start = await fixer.run(begin)
    assert (start.ok, start.output) == (True, f"An adb server answers at {patient.engine.server.address}")


async def test_a_server_elsewhere_is_not_ours_to_end(admit: Admit) -> None:
    patient = await admit()
    patient.engine.server.address = replace_host(patient.engine.server.address)
    fixer = Fixer(patient.engine)
    (kill,) = planned(fixer, "adb kill-server")
    result = await fixer.run(kill)
    assert (result.ok, "is not on this computer" in result.output) == (False, True)


def replace_host(address: Any) -> Any:
    return address._replace(host="192.0.2.1") if hasattr(address, "_replace") else replace(address, host="192.0.2.1")


def test_executed_steps_are_no_next_actions() -> None:
    checks = [host.adb_server("a", 41), failing(host.RESTART, manual("adb kill-server by hand"))]
    assert next_actions(checks, "", executed=["adb kill-server"]) == ["adb start-server", "adb kill-server by hand"]
    answer = report(
        [failing(host.RESTART)], device_id="", package=PACKAGE, executed={"adb kill-server", "adb start-server"}
    )
    assert "nextActions" not in answer
    assert answer["criticalOk"] is False
    assert ErrorCode.ADB_SERVER_FAILED.value not in str(answer)
