"""What ``dumpsys`` prints of the services that host tools ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clawperator.engine.simulator.packages import dumpsys_package
from clawperator.engine.simulator.scenario import ServiceDown

if TYPE_CHECKING:
    from clawperator.engine.simulator.device import SimulatedDevice

_RUNNING = (
    "Service[label=Clawperator Operator, feedbackType[FEEDBACK_GENERIC], capabilities=33, eventTypes=TYPES_ALL_MASK, "
    "notificationTimeout=100, requestA11yBtn=false]"
)


def dumpsys(device: SimulatedDevice, service: str, args: Sequence[str]) -> str | None:
    """The text of one service's dump; ``None`` for a service that is not there."""
    dump = _SERVICES.get(service)
    return None if dump is None else dump(device, [arg for arg in args if not arg.startswith("-")])


def _package(device: SimulatedDevice, names: Sequence[str]) -> str:
    wanted = names or list(device.packages)
    found = [device.packages[name] for name in wanted if name in device.packages]
    if not found:
        return f"Unable to find package: {names[0]}\n"
    return "\n".join(dumpsys_package(package, device.launcher_activity(package.name), device.sdk) for package in found)


def _accessibility(device: SimulatedDevice, _: Sequence[str]) -> str:
    """As Android 10 and later print it, or as the ones before; running services are named by their label only."""
    installed = [operator.service for operator in device.operators.values()]
    secure = device.settings["secure"]
    listed = [entry for entry in secure.get("enabled_accessibility_services", "").split(":") if entry]
    on = secure.get("accessibility_enabled") == "1"
    wanted = [service for service in installed if on and service in listed]
    bound = [service for service in wanted if device.service_bound(service)]
    crashed = [service for service in wanted if service in device.crashed_services]
    down = device.scenario.of_device(ServiceDown)
    binding = wanted if down is not None and down.how == "binding" and not device.ui_automation_held else []
    running = ",\n                     ".join(_RUNNING for _ in bound)
    head = "ACCESSIBILITY MANAGER (dumpsys accessibility)\n\n"
    held = "\nUi Automation[eventTypes=TYPES_ALL_MASK, notificationTimeout=0]\n" if device.ui_automation_held else ""
    if device.sdk < 29:
        facts = "{id=0, currentUser=true, touchExplorationEnabled=false, displayMagnificationEnabled=false}"
        return f"{head}User state[attributes:{facts}\n           services:{{{running}}}]\n{held}\n"
    facts = (
        "{id=0, touchExplorationEnabled=false, serviceHandlesDoubleTap=false, displayMagnificationEnabled=false, "
        f"autoclickEnabled=false, installedServiceCount={len(installed)}}}"
    )
    state = [
        "currentUserId=0",
        "User state[",
        f"     attributes:{facts}",
        "     shortcut key:{}",
        "     button:{}",
        "     button target:{null}",
        f"     Bound services:{{{running}}}",
        f"     Enabled services:{{{_components(listed if on else [])}}}",
        f"     Binding services:{{{_components(binding)}}}",
        f"     Crashed services:{{{_components(crashed)}}}]",
    ]
    return head + "\n".join(state) + f"\n{held}\n"


def _components(names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


def _window(device: SimulatedDevice, arguments: Sequence[str]) -> str:
    if "policy" in arguments:
        return _policy(device)
    window = device.ui.window()
    name = f"Window{{6d2f1a4 u0 {_full(window.component)}}}"
    focus = name if device.ui.awake else "null"
    return (
        "WINDOW MANAGER LAST ANR (dumpsys window lastanr)\n  <no ANR has occurred since boot>\n\n"
        "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n"
        f"  Display: mDisplayId=0\n    init={device.ui.metrics.width}x{device.ui.metrics.height}"
        f" {device.ui.metrics.density}dpi rotation=0\n"
        f"  mCurrentFocus={focus}\n"
        f"  mFocusedApp=ActivityRecord{{a1b2c3d u0 {window.component} t12}}\n"
        f"  mAwake={str(device.ui.awake).lower()}\n"
    )


def _policy(device: SimulatedDevice) -> str:
    awake, locked = str(device.ui.awake).lower(), str(device.locked).lower()
    screen = "SCREEN_STATE_ON" if device.ui.awake else "SCREEN_STATE_OFF"
    keyguard = {
        "showing": locked,
        "inputRestricted": locked,
        "occluded": "false",
        "secure": locked,
        "dreaming": "false",
        "systemIsReady": "true",
        "deviceHasKeyguard": "true",
        "enabled": "true",
        "currentUser": "0",
        "bootCompleted": "true",
        "screenState": screen,
    }
    return (
        "WINDOW MANAGER POLICY STATE (dumpsys window policy)\n"
        "    mSafeMode=false mSystemReady=true mSystemBooted=true\n"
        f"    mAwake={awake} mScreenOnEarly={awake} mScreenOnFully={awake}\n"
        f"    mShowingDream=false mDreamingLockscreen={locked}\n"
        "    KeyguardServiceDelegate\n"
    ) + "".join(f"      {name}={value}\n" for name, value in keyguard.items())


def _activity(device: SimulatedDevice, _: Sequence[str]) -> str:
    top = device.ui.window().component
    lines = ["ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)"]
    for number, task in enumerate(reversed(device.ui.tasks)):
        lines += [f"  * Task{{{number:x}7c1 #{12 - number} type=standard A=10121:{task.app.package}}}"]
    lines += [
        f"  mResumedActivity: ActivityRecord{{a1b2c3d u0 {top} t12}}",
        f"  topResumedActivity=ActivityRecord{{a1b2c3d u0 {top} t12}}",
    ]
    return "\n".join(lines) + "\n"


def _battery(_: SimulatedDevice, __: Sequence[str]) -> str:
    facts = {
        "AC powered": "false",
        "USB powered": "true",
        "Wireless powered": "false",
        "status": "2",
        "health": "2",
        "present": "true",
        "level": "87",
        "scale": "100",
        "voltage": "4201",
        "temperature": "271",
        "technology": "Li-ion",
    }
    return "Current Battery Service state:\n" + "".join(f"  {key}: {value}\n" for key, value in facts.items())


def _power(device: SimulatedDevice, _: Sequence[str]) -> str:
    awake = "Awake" if device.ui.awake else "Asleep"
    state = "ON" if device.ui.awake else "OFF"
    return (
        "POWER MANAGER (dumpsys power)\n\nPower Manager State:\n"
        f"  mDirty=0x0\n  mWakefulness={awake}\n  mWakefulnessChanging=false\n  mIsPowered=true\n"
        f"\nDisplay Power: state={state}\n"
    )


def _full(component: str) -> str:
    package, _, name = component.partition("/")
    return f"{package}/{package}{name}" if name.startswith(".") else component


def _dropbox(device: SimulatedDevice, tags: Sequence[str]) -> str:
    return device.dropbox.dump(tags)


_SERVICES: Mapping[str, Callable[[SimulatedDevice, Sequence[str]], str]] = {
    "dropbox": _dropbox,
    "package": _package,
    "accessibility": _accessibility,
    "window": _window,
    "activity": _activity,
    "battery": _battery,
    "power": _power,
}
