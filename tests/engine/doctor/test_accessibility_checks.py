"""Is the service switched on, does it run, and who keeps it from running: from texts of real shape, and from any text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.contracts.operator_identity import service_of
from clawperator.engine.doctor import accessibility
from clawperator.engine.doctor.check import Check
from clawperator.engine.errors import ErrorCode
from tests.engine.doctor.conftest import Admit
from tests.support import table

PACKAGE = "com.clawperator.operator"
SERVICE = service_of(PACKAGE)
DEVICE = "emulator-5554"
GRANT = f"clawperator grant-device-permissions --device-id {DEVICE} --receiver-package {PACKAGE}"
ANY = st.one_of(st.text(), st.sampled_from(["", "null", "\0", "{" * 50, "User state[", "Bound services:{", SERVICE]))


def part(text: str, exit_code: int = 0) -> BatchOutput:
    return BatchOutput(text.encode(), exit_code)


def enabled(switch: str, listed: str, exit_code: int = 0) -> Check:
    return accessibility.enabled(part(switch), part(listed, exit_code), DEVICE, PACKAGE)


@table(
    "listed",
    [
        SERVICE,
        f"a.b/c.d:{SERVICE}",
        f"{SERVICE}:a.b/c.d",
        f":{SERVICE}:",
        f"{SERVICE}\r\n",
        f"WARNING: linker\n{SERVICE}\n",
    ],
)
def test_switched_on(listed: str) -> None:
    assert enabled("1\n", listed).status == "pass"


@table("listed", ["", "null", "null\n", f"{SERVICE}2", f"x{SERVICE}", f"{SERVICE};a.b/c.d", f"a.b/{SERVICE}", "\0"])
def test_switched_off(listed: str) -> None:
    """Whole entries are compared: another service's name may contain ours."""
    check = enabled("1", listed)
    assert (check.status, check.code) == ("warn", ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING)
    assert [(step.kind, step.value) for step in check.fix] == [("shell", GRANT)]
    assert check.guidance_screen == "Accessibility Settings"


def test_listed_while_accessibility_as_a_whole_is_off() -> None:
    check = enabled("0", SERVICE)
    assert check.summary == "Accessibility is switched off"
    assert [step.value for step in check.fix] == [f"{GRANT} --force"]


def test_settings_that_do_not_answer() -> None:
    check = enabled("1", "cmd: Can't find service: settings", 20)
    assert (check.status, check.code) == ("warn", None)
    assert check.summary.endswith("could not be read")


# -- the dump, in the shape of Android 13


def dump(*, bound: int = 0, listed: str = "", binding: str = "", crashed: str = "", held: bool = False) -> BatchOutput:
    running = ", \n                     ".join(
        "Service[label=Some service, feedbackType[FEEDBACK_GENERIC], capabilities=1, eventTypes=TYPES_ALL_MASK]"
        for _ in range(bound)
    )
    return part(
        "ACCESSIBILITY MANAGER (dumpsys accessibility)\n\ncurrentUserId=0\nUser state[\n"
        "     attributes:{id=0, touchExplorationEnabled=false, installedServiceCount=3}\n"
        f"     shortcut key:{{}}\n     Bound services:{{{running}}}\n     Enabled services:{{{listed}}}\n"
        f"     Binding services:{{{binding}}}\n     Crashed services:{{{crashed}}}]\n"
        + ("\nUi Automation[eventTypes=TYPES_ALL_MASK, notificationTimeout=0]\n" if held else "")
    )


OURS = f"{{{SERVICE}}}"
BOTH = f"{OURS}, {{com.other/com.other.Service}}"


def bound(text: BatchOutput, listed: str = SERVICE, about: str = "") -> Check:
    return accessibility.bound(text, part(listed), part(about), DEVICE, PACKAGE)


@pytest.mark.parametrize("binding", ["", f"{{{SERVICE}}}"])
def test_an_app_that_android_keeps_stopped_has_to_be_opened(binding: str) -> None:
    about = f"  Package [{PACKAGE}] (1):\n    User 0: ceDataInode=1 installed=true stopped={{}} enabled=0\n"
    check = bound(dump(listed=f"{{{SERVICE}}}", binding=binding), about=about.format("true"))
    assert check.detail.startswith("Android keeps the app stopped until it is opened")
    (step,) = check.fix
    assert step.value.startswith(f"adb -s {DEVICE} shell am start --user current -n {PACKAGE}/")
    assert bound(dump(listed=f"{{{SERVICE}}}", binding=binding), about=about.format("false")).fix != check.fix
    of_another = about.format("false") + "    User 10: installed=true stopped=true\n"
    assert bound(dump(listed=f"{{{SERVICE}}}", binding=binding), about=of_another).fix != check.fix


def test_bound() -> None:
    assert bound(dump(bound=1, listed=OURS)).status == "pass"
    assert bound(dump(bound=2, listed=BOTH)).status == "pass"


@pytest.mark.parametrize(
    ("text", "reason", "steps"),
    [
        (dump(listed=OURS), "Android does not list it", [f"{GRANT} --force"]),
        (dump(bound=1, listed=BOTH, crashed=OURS), "Android lists it as crashed. 1 of 2", [f"{GRANT} --force"]),
        (dump(listed=OURS, binding=OURS), "It is starting", ["Wait three seconds, then run the doctor again."]),
        (dump(listed=OURS, held=True), "UiAutomation is held by another program", []),
    ],
)
def test_enabled_but_not_bound(text: BatchOutput, reason: str, steps: list[str]) -> None:
    check = bound(text)
    assert (check.status, check.code) == ("warn", ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING)
    assert check.summary == "The Operator's accessibility service is switched on but not running"
    assert check.detail.startswith(reason)
    assert [step.value for step in check.fix] == steps


def test_which_of_several_runs_is_not_guessed() -> None:
    check = bound(dump(bound=1, listed=BOTH))
    assert (check.status, check.code) == ("warn", None)
    assert check.detail == "1 of 2 services are running."


def test_android_before_10_does_not_repeat_the_setting() -> None:
    old = "User state[attributes:{id=0, currentUser=true}\n           services:{Service[label=X, capabilities=1]}]\n"
    assert bound(part(old)).status == "pass"
    assert bound(part(old), f"{SERVICE}:a.b/c.D").code is None
    assert bound(part(old.replace("Service[label=X, capabilities=1]", ""))).status == "warn"


def test_a_real_dump_of_another_maker(corpus: Path) -> None:
    """Nothing is switched on there, so nothing runs."""
    check = bound(part((corpus / "device" / "dumpsys-accessibility.txt").read_text()))
    assert (check.status, check.code) == ("warn", ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING)
    nobody = accessibility.ui_automation(
        part((corpus / "device" / "dumpsys-accessibility.txt").read_text()),
        (corpus / "device" / "ps-a.txt").read_text(),
        DEVICE,
        PACKAGE,
    )
    assert (nobody.status, nobody.evidence) == ("pass", {"held": False, "processes": []})


# -- who holds UiAutomation

PS = (
    "  PID USER         ARGS\n    1 root         init second_stage\n"
    "  482 shell        app_process /system/bin com.android.commands.uiautomator.Launcher runtest old.jar\n"
    " 2300 u0_a210      io.appium.uiautomator2.server\n 2301 u0_a9 com.example.automatic\n"
)


def test_the_holder_is_named() -> None:
    check = accessibility.ui_automation(dump(listed=OURS, held=True), PS, DEVICE, PACKAGE)
    assert check.status == "warn"
    assert "uiautomator.Launcher runtest old.jar (pid 482)" in check.summary
    assert [(step.kind, step.value) for step in check.fix] == [
        ("manual", f"adb -s {DEVICE} shell kill 482"),
        ("manual", f"adb -s {DEVICE} shell am force-stop io.appium.uiautomator2.server"),
    ]


def test_a_holder_that_leaves_services_alone_is_no_problem() -> None:
    assert accessibility.ui_automation(dump(bound=1, listed=OURS, held=True), PS, DEVICE, PACKAGE).status == "pass"


def test_an_unknown_holder() -> None:
    check = accessibility.ui_automation(dump(listed=OURS, held=True), "PID USER ARGS\n", DEVICE, PACKAGE)
    assert check.status == "warn"
    assert check.fix[0].value == "Stop the test program, or reboot the device."


def test_a_client_beside_a_dead_service_is_suspected() -> None:
    assert accessibility.ui_automation(dump(listed=OURS), PS, DEVICE, PACKAGE).status == "warn"
    assert accessibility.ui_automation(dump(bound=1, listed=OURS), PS, DEVICE, PACKAGE).status == "pass"


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ("USER PID PPID NAME\nshell 77 1 uiautomator\n", 77),
        ("USER     PID   PPID  VSIZE  RSS     WCHAN    PC        NAME\nshell 12 1 1 1 f p S uiautomator\n", 12),
        ("PID USER ARGS\n9 shell CLASSPATH=/data/local/tmp/u2.jar app_process / com.wetest.uia2.Main\n", 9),
        ("PID USER ARGS\n9 shell app_process /system/bin com.android.commands.am.Am instrument -w x\n", 9),
    ],
)
def test_a_client_in_any_columns(listing: str, expected: int) -> None:
    assert [client.pid for client in accessibility.clients(listing)] == [expected]


@pytest.mark.parametrize("text", ["", "null", "USER PID\nshell", "PID ARGS\nx uiautomator\n", "9 uiautomator"])
def test_listings_that_say_nothing(text: str) -> None:
    assert accessibility.clients(text) == ()


@given(ANY, ANY, ANY)
def test_no_text_is_too_odd(one: str, two: str, three: str) -> None:
    made = [
        enabled(one, two),
        bound(part(one), two),
        accessibility.ui_automation(part(one), f"PID USER ARGS\n{two}\n{three}", DEVICE, PACKAGE),
    ]
    for check in made:
        assert check.status in ("pass", "warn")
        assert check.to_dict()["summary"]


# -- on the simulated device


@pytest.mark.parametrize("sdk", [23, 28, 34])
async def test_a_service_that_crashed(admit: Admit, sdk: int) -> None:
    patient = await admit(device={"sdk": sdk}, faults=[{"kind": "service_down", "how": "crashed"}])
    checks = await patient.by_id()
    assert checks["readiness.accessibility.enabled"].status == "pass"
    assert checks["readiness.accessibility.bound"].code is ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING
    assert checks["readiness.handshake"].code is ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING
    assert [step.value for step in checks["readiness.handshake"].fix] == [f"{GRANT} --force"]


async def test_a_leftover_client(admit: Admit) -> None:
    patient = await admit(faults=[{"kind": "ui_automation_held"}])
    checks = await patient.by_id()
    assert "com.android.commands.uiautomator.Launcher" in checks["readiness.uiautomation"].summary
    assert checks["readiness.accessibility.bound"].detail.startswith("UiAutomation is held")


async def test_a_service_switched_off(admit: Admit) -> None:
    patient = await admit()
    patient.world.settings["secure"]["enabled_accessibility_services"] = "com.other/.Service"
    checks = await patient.by_id()
    assert checks["readiness.accessibility.enabled"].evidence == {
        "accessibilityEnabled": "1",
        "listed": False,
        "otherServices": 1,
    }
    assert "readiness.accessibility.bound" not in checks


@table(
    ("sdk", "dump", "protection", "expected"),
    [
        ("33", "", "null", ("pass", "Android hides no nodes from the Operator", None)),
        ("34", "", "null", ("pass", "The Operator reads all nodes that apps do not hide as sensitive", None)),
        ("36", "", "1", ("pass", "The Operator reads all nodes that apps do not hide as sensitive", None)),
        (
            "34",
            f"{PACKAGE}/.S, isAccessibilityTool: true]",
            "0",
            ("pass", "Android hides no nodes from the Operator", True),
        ),
        (
            "34",
            f"{PACKAGE}/.S, isAccessibilityTool: false]",
            "0",
            ("pass", "The Operator reads all nodes that apps do not hide as sensitive", False),
        ),
        (
            "34",
            f"{PACKAGE}/.S]\na.b isAccessibilityTool: true]",
            "0",
            ("pass", "The Operator reads all nodes that apps do not hide as sensitive", None),
        ),
        (
            "37",
            "",
            "1",
            ("warn", "Advanced Protection is on: Android stops services that are not accessibility tools", None),
        ),
        ("", "", "", ("warn", "The Android version could not be read", None)),
    ],
)
def test_nodes_that_android_hides(sdk: str, dump: str, protection: str, expected: tuple[str, str, bool | None]) -> None:
    check = accessibility.hidden_nodes(part(dump), part(sdk), part(protection), PACKAGE)
    said = (check.evidence or {}).get("isAccessibilityTool")
    assert (check.status, check.summary, said) == expected
    assert ("--backend stock" in check.detail) is (
        check.summary == "The Operator reads all nodes that apps do not hide as sensitive"
    )
