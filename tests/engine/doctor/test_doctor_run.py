"""One run: the order of the report, what ends it, what is asked at the same time, and looking at one check again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from clawperator.engine import EngineError
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.doctor import catalog, host, readiness
from clawperator.engine.doctor.catalog import CATALOG
from clawperator.engine.doctor.check import CRITICAL, Check
from clawperator.engine.doctor.probes import Probes
from clawperator.engine.doctor.run import next_actions, report
from clawperator.engine.doctor.verdict import concerns
from clawperator.engine.errors import ErrorCode
from clawperator.engine.simulator import services
from clawperator.engine.simulator.packages import version_code_of
from clawperator.engine.version import OPERATOR_RELEASES, __version__
from tests.engine.doctor.conftest import Admit, Patient, write_tool

ORDER = [
    "host.python.version",
    "host.node.version",
    "host.git.presence",
    "host.skills.registry",
    "host.adb.presence",
    "host.adb.server",
    "host.adb.version",
    "host.adb.servers",
    "device.discovery",
    "device.capability",
    "stock.programs",
    "stock.uiautomation",
    "readiness.apk.presence",
    "readiness.version.compatibility",
    "readiness.settings.dev_options",
    "readiness.settings.usb_debugging",
    "readiness.accessibility.enabled",
    "readiness.accessibility.bound",
    "readiness.accessibility.hidden_nodes",
    "readiness.uiautomation",
    "device.screen",
    "device.log_buffer",
    "device.clock",
    "readiness.handshake",
]
FULL = [
    *ORDER[:8],
    "host.java.version",
    "build.android.assemble",
    "device.discovery",
    "build.android.install",
    "build.android.launch",
    *ORDER[9:],
    "readiness.smoke",
]


async def test_a_healthy_device_passes_every_check_in_order(admit: Admit) -> None:
    patient = await admit()
    doctor = patient.engine.doctor()
    checks = [check async for check in doctor.checks()]
    assert [(check.id, check.status) for check in checks] == [(check_id, "pass") for check_id in ORDER]
    assert doctor.ids == tuple(ORDER)
    assert doctor.device_id == "emulator-5554"
    answer = report(checks, device_id=doctor.device_id, package="com.clawperator.operator")
    assert answer["ok"] is True
    assert answer["nextActions"][-1] == "Try: clawperator observe snapshot --device-id emulator-5554"
    evidence = {check.id: check.evidence for check in checks}
    assert evidence["device.discovery"] == {"serial": "emulator-5554"}
    assert evidence["device.capability"] == {
        "sdk": "34",
        "wmSize": "Physical size: 1080x2340",
        "wmDensity": "Physical density: 440",
    }
    ping = evidence["readiness.handshake"]
    assert ping is not None
    assert {"developer_options_enabled", "usb_debugging_enabled", "roundTripMs"} <= ping.keys()
    timed = {check.id for check in checks if check.duration_ms > 0}
    assert {"host.adb.presence", "device.discovery", "device.capability", "readiness.handshake"} <= timed


async def test_every_critical_id_of_the_contract_has_a_step(admit: Admit) -> None:
    assert {step.id for step in CATALOG} >= CRITICAL
    doctor = (await admit()).engine.doctor(full=True)
    assert doctor.ids == tuple(FULL)


async def test_no_more_than_six_round_trips_in_sequence(admit: Admit) -> None:
    patient = await admit(latency_ms={"round_trip": 60})
    assert all(check.status == "pass" for check in await patient.checks())
    assert patient.world.round_trips.in_sequence <= 6
    assert patient.world.round_trips.total > 6


async def test_a_check_is_reported_as_soon_as_all_before_it_are_known(admit: Admit) -> None:
    """The handshake may take its time; nobody waits for it to hear of the rest."""
    patient = await admit()
    asked, answer = asyncio.Event(), asyncio.Event()
    send = patient.engine._send

    async def slow(serial: str, package: str | None, command: object) -> Envelope:
        asked.set()
        await answer.wait()
        return await send(serial, package, command)  # type: ignore[arg-type]

    patient.engine._send = slow  # type: ignore[method-assign]
    seen: list[str] = []
    async with aclosing(patient.engine.doctor().checks()) as checks:
        async for check in checks:
            seen.append(check.id)
            if check.id == "device.clock":
                await asked.wait()
                answer.set()
    assert seen == ORDER


# -- what ends a run

ENDING = {
    "host.python.version": host.python_version((3, 10)),
    "host.adb.presence": host.adb_presence("", None),
    "host.adb.server": host.adb_server("tcp:1", EngineError(ErrorCode.ADB_SERVER_FAILED, "no")),
    "device.discovery": Check("device.discovery", "fail", "none", ErrorCode.NO_DEVICES),
    "readiness.version.compatibility": Check(
        "readiness.version.compatibility", "fail", "old", ErrorCode.VERSION_INCOMPATIBLE
    ),
    "readiness.handshake": Check("readiness.handshake", "fail", "silence", ErrorCode.RESULT_ENVELOPE_TIMEOUT),
    "host.java.version": host.java_version(None),
    "build.android.assemble": Check("build.android.assemble", "fail", "no", ErrorCode.ANDROID_BUILD_FAILED),
    "build.android.install": Check("build.android.install", "fail", "no", ErrorCode.ANDROID_INSTALL_FAILED),
    "build.android.launch": Check("build.android.launch", "fail", "no", ErrorCode.ANDROID_APP_LAUNCH_FAILED),
    "readiness.smoke": Check("readiness.smoke", "fail", "no", ErrorCode.SMOKE_OPEN_SETTINGS_FAILED),
}


def decreed(patient: Patient, monkeypatch: pytest.MonkeyPatch, *decrees: Check) -> None:
    """These checks come out so, whatever is the case; the builds pass unless decreed otherwise."""
    passing = [Check(name, "pass", "built") for name in FULL if name.startswith("build.")]
    wanted = {check.id: check for check in (*passing, *decrees)}
    made = tuple(
        catalog.CheckSpec(step.id, _always(wanted[step.id]), step.probe, step.full) if step.id in wanted else step
        for step in CATALOG
    )
    monkeypatch.setattr("clawperator.engine.doctor.run.CATALOG", made)


def _always(check: Check) -> Callable[[Probes], Awaitable[Check]]:
    async def find(_: Probes) -> Check:
        return check

    return find


@pytest.mark.parametrize("check_id", ENDING)
async def test_a_critical_failure_is_the_last_word(
    admit: Admit, monkeypatch: pytest.MonkeyPatch, check_id: str
) -> None:
    patient = await admit()
    full = check_id not in ORDER
    decreed(patient, monkeypatch, ENDING[check_id])
    checks = await patient.checks(full=full)
    order = FULL if full else ORDER
    assert [check.id for check in checks] == order[: order.index(check_id) + 1]
    assert report(checks, device_id="", package="p")["criticalOk"] is False
    dispatched = patient.world.commands
    await asyncio.sleep(0)
    assert patient.world.commands == dispatched


ADVISORY = [name for name in ORDER if name not in CRITICAL]


@pytest.mark.parametrize("status", ["warn", "fail"])
async def test_nothing_else_ends_it(admit: Admit, monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    patient = await admit()
    never = [*(name for name in ADVISORY if name != "readiness.apk.presence"), "device.capability"]
    decreed(patient, monkeypatch, *(Check(name, status, "so what") for name in never))  # type: ignore[arg-type]
    checks = await patient.checks()
    assert [check.id for check in checks] == ORDER
    answer = report(checks, device_id="", package="p")
    assert answer["criticalOk"] is (status == "warn")  # device.capability is critical all the same


async def test_an_absent_app_leaves_out_what_needs_it(admit: Admit) -> None:
    patient = await admit(operator={"installed": False})
    checks = {check.id: check for check in await patient.checks()}
    gone = {"readiness.version.compatibility", "readiness.handshake", "readiness.accessibility.enabled"}
    assert not (gone | {"readiness.accessibility.bound"}) & checks.keys()
    present = checks["readiness.apk.presence"]
    assert (present.status, present.code) == ("warn", ErrorCode.RECEIVER_NOT_INSTALLED)
    setup, stock = (step.value for step in present.fix)
    assert setup == "clawperator operator setup --apk <path> --device-id emulator-5554"
    assert stock.endswith("clawperator observe snapshot --device-id emulator-5554 --backend stock")
    assert present.fix[0].kind == "manual"
    assert checks["readiness.settings.usb_debugging"].status == "pass"
    assert patient.world.commands == 0


async def test_the_other_variant_is_named(admit: Admit) -> None:
    patient = await admit(operator={"package": "com.clawperator.operator.dev"})
    present = (await patient.by_id())["readiness.apk.presence"]
    assert (present.status, present.code) == ("warn", ErrorCode.RECEIVER_VARIANT_MISMATCH)
    assert present.evidence == {"expected": "com.clawperator.operator", "found": "com.clawperator.operator.dev"}


@pytest.mark.parametrize(("generation", "lacks"), [("0.3", "read-value"), ("0.5", "strict"), ("0.12", "")])
async def test_supported_generations_say_what_they_lack(admit: Admit, generation: str, lacks: str) -> None:
    patient = await admit(device={"generation": generation})
    checks = await patient.by_id()
    found = checks["readiness.version.compatibility"]
    assert (found.status, found.summary) == ("pass", f"Operator {OPERATOR_RELEASES[generation]} is supported")
    assert lacks in found.detail
    assert bool(found.detail) is bool(lacks)
    assert checks["readiness.handshake"].status == "pass"


async def test_an_incompatible_app_is_not_spoken_to(admit: Admit) -> None:
    patient = await admit(operator={"version_name": "0.13.0"})
    checks = await patient.checks()
    assert checks[-1].id == "readiness.version.compatibility"
    assert checks[-1].code is ErrorCode.VERSION_INCOMPATIBLE
    assert len(checks[-1].fix) == 2
    assert checks[-1].evidence == {
        "cliVersion": __version__,
        "apkVersion": "0.13.0",
        "apkVersionCode": version_code_of("0.13.0"),
        "receiverPackage": "com.clawperator.operator",
    }
    assert patient.world.commands == 0


async def test_further_versions_can_be_accepted_and_the_strict_rule_asked_for(admit: Admit) -> None:
    patient = await admit(operator={"version_name": "0.13.0"}, settings={"accepted_versions": ("0.13",)})
    assert (await patient.by_id())["readiness.version.compatibility"].status == "pass"
    close = await admit(operator={"version_name": "0.3.9"})
    assert (await close.by_id())["readiness.version.compatibility"].status == "pass"
    assert (await close.by_id(strict=True))["readiness.version.compatibility"].status == "fail"


async def test_a_run_that_no_one_follows_any_more_leaves_nothing_behind(admit: Admit) -> None:
    patient = await admit()
    write_tool(patient.tools, "node", "sleep 60")
    before = asyncio.all_tasks()
    async with aclosing(patient.engine.doctor().checks()) as checks:
        assert (await anext(checks)).id == "host.python.version"
    assert {task for task in asyncio.all_tasks() - before if task.get_name().startswith("doctor")} == set()


async def test_a_tool_that_hangs_delays_no_one_for_ever(admit: Admit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.engine.doctor.probes.TOOL_SECONDS", 0.05)
    patient = await admit()
    write_tool(patient.tools, "node", "sleep 60")
    assert (await patient.by_id())["host.node.version"].code is ErrorCode.HOST_DEPENDENCY_MISSING


# -- one check again


@pytest.mark.parametrize("check_id", ORDER)
async def test_one_check_alone(admit: Admit, check_id: str) -> None:
    patient = await admit()
    (check,) = await patient.checks(only=check_id)
    assert (check.id, check.status) == (check_id, "pass")
    if check_id.startswith("host."):
        assert patient.world.round_trips.total <= 1
    assert (patient.world.commands == 1) == (check_id == "readiness.handshake")


async def test_the_rest_from_one_check_on(admit: Admit) -> None:
    patient = await admit()
    checks = await patient.checks(since="readiness.accessibility.enabled")
    assert [check.id for check in checks] == ORDER[ORDER.index("readiness.accessibility.enabled") :]


async def test_a_check_whose_needs_are_not_met_says_so(admit: Admit) -> None:
    patient = await admit(operator={"installed": False})
    (check,) = await patient.checks(only="readiness.handshake")
    assert (check.id, check.status, check.code) == (
        "readiness.handshake",
        "fail",
        ErrorCode.RECEIVER_NOT_INSTALLED,
    )
    assert check.summary == "Skipped: com.clawperator.operator is not installed"
    patient.world.disconnect()
    lost = await patient.checks(since="readiness.settings.dev_options")
    assert [(check.id, check.status) for check in lost] == [("readiness.settings.dev_options", "warn")]
    assert lost[0].code is ErrorCode.NO_DEVICES


async def test_a_check_that_does_not_exist_is_refused(admit: Admit) -> None:
    patient = await admit()
    for only, since in (("readiness.smoke", ""), ("", "nonsense")):
        with pytest.raises(EngineError) as refused:
            await patient.checks(only=only, since=since)
        assert refused.value.code is ErrorCode.USAGE


# -- bad answers


async def test_a_device_that_answers_nothing_of_the_kind(admit: Admit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of the device prints ``null``: no check crashes, each has its documented code or none."""

    async def null(process: object) -> int:
        await process.out("null\n")  # type: ignore[attr-defined]
        return 0

    names = ("pm", "settings", "dumpsys", "ps", "wm", "logcat", "date", "getprop")
    monkeypatch.setattr(services, "TOOLBOX", {**services.TOOLBOX, **dict.fromkeys(names, null)})
    checks = (await (await admit()).by_id()).values()
    assert ErrorCode.DOCTOR_FAILED not in {check.code for check in checks}
    unread = {check.id for check in checks if check.summary.endswith("could not be read")}
    assert unread == {check.id for check in checks if check.unknown}
    assert unread == {
        "readiness.uiautomation",
        "stock.programs",
        "stock.uiautomation",
        "device.screen",
        "device.log_buffer",
        "device.clock",
    }
    assert all(check.evidence == {"output": "null"} for check in checks if check.id in unread)


async def test_a_run_for_the_stock_backend_needs_no_operator_app(admit: Admit) -> None:
    patient = await admit(operator={"installed": False})
    doctor = patient.engine.doctor(backend="stock")
    checks = [check async for check in doctor.checks()]
    assert [check.id for check in checks] == [name for name in ORDER if concerns(name, "stock")]
    found = report(checks, device_id="d", package="p", backend="stock")
    assert (found["ok"], found["verdict"] != "not_ready", found["backend"]) == (True, True, "stock")
    whole = report(await patient.checks(), device_id="d", package="p")
    assert whole["summary"] == "Not ready: Operator not installed"
    assert whole["stock"]["verdict"] != "not_ready"


async def test_the_stock_backend_needs_uiautomation_and_its_programs(
    admit: Admit, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = {name: command for name, command in services.TOOLBOX.items() if name != "uiautomator"}
    monkeypatch.setattr(services, "TOOLBOX", without)
    checks = await (await admit(faults=[{"kind": "ui_automation_held"}], device={"sdk": 30})).by_id()
    assert checks["stock.programs"].summary == "The device has no uiautomator"
    assert "0.7 s" in str(checks["stock.programs"].evidence)
    older = await (await admit(device={"sdk": 23})).by_id()
    assert older["stock.programs"].summary.startswith("The stock backend needs Android 7")
    held = checks["stock.uiautomation"]
    assert (held.status, held.code) == ("fail", ErrorCode.BACKEND_UNAVAILABLE)
    assert "kill" in held.fix[0].value


async def test_a_device_that_vanishes_meanwhile(admit: Admit, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = await admit()
    ask = Probes._parts

    async def vanish(visit: Probes, name: str, commands: object) -> object:
        await visit.device()
        patient.world.disconnect()
        return await ask(visit, name, commands)  # type: ignore[arg-type]

    monkeypatch.setattr(Probes, "_parts", vanish)
    checks = await patient.by_id()
    assert checks["device.discovery"].status == "pass"
    assert ErrorCode.DOCTOR_FAILED not in {check.code for check in checks.values()}
    assert checks["readiness.apk.presence"].code in (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.DEVICE_SHELL_UNAVAILABLE)


async def test_a_busy_device_is_a_conflict_with_a_hint(admit: Admit) -> None:
    patient = await admit()
    release, held = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        from clawperator.engine.executions import build
        from clawperator.engine.executions.command import Command
        from clawperator.engine.executions.device_lock import DeviceLocks

        async with DeviceLocks(patient.engine.settings.lock_dir).hold(
            "emulator-5554", Command.internal(build.doctor_ping())
        ):
            held.set()
            await release.wait()

    holding: Awaitable[None] = asyncio.create_task(hold())
    await held.wait()
    (check,) = await patient.checks(only="readiness.handshake")
    release.set()
    await holding
    assert check.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
    assert "run the doctor again" in check.fix[0].value


async def test_the_smoke_test_opens_the_settings(admit: Admit) -> None:
    patient = await admit()
    check = await readiness.smoke(patient.engine.doctor()._send, "emulator-5554")
    assert (check.id, check.status) == ("readiness.smoke", "pass")
    assert patient.world.ui.package == "com.android.settings"


async def test_a_smoke_test_that_fails(admit: Admit) -> None:
    patient = await admit(faults=[{"kind": "service_down"}])
    check = await readiness.smoke(patient.engine.doctor()._send, "emulator-5554")
    assert (check.status, check.code) == ("fail", ErrorCode.SMOKE_OPEN_SETTINGS_FAILED)
    assert check.detail == "Accessibility service is not available"


@pytest.mark.parametrize(
    ("fault", "actions"),
    [
        ({"kind": "service_down", "how": "unbound"}, ["--force", "Accessibility Settings"]),
        ({"kind": "service_down", "how": "binding"}, ["Wait three seconds"]),
        ({"kind": "ui_automation_held"}, [" shell kill "]),
    ],
)
async def test_a_service_that_is_down_has_one_remedy(admit: Admit, fault: dict[str, str], actions: list[str]) -> None:
    """Restarting it does not help where another program holds UiAutomation, and is not needed while it starts."""
    patient = await admit(faults=[fault])
    found = next_actions([check for check in await patient.checks() if not check.id.startswith("host.")], "x")
    assert len(found) == len(actions)
    assert all(part in action for part, action in zip(actions, found, strict=True))
