"""What ``dumpsys`` prints of the services that host tools ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clawperator.engine.simulator.packages import dumpsys_package

if TYPE_CHECKING:
    from clawperator.engine.simulator.device import SimulatedDevice


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
    installed = [operator.service for operator in device.operators.values()]
    bound = [service for service in installed if device.service_bound(service)]
    listed = [
        entry for entry in device.settings["secure"].get("enabled_accessibility_services", "").split(":") if entry
    ]
    lines = [
        "ACCESSIBILITY MANAGER (dumpsys accessibility)",
        "",
        "User state[",
        "     attributes:{id=0, currentUser=true}",
    ]
    lines += ["     installed services: {", *(f"          {i} : {name}" for i, name in enumerate(installed)), "     }"]
    lines.append(
        "     Bound services:{" + ", ".join(f"Service[label=Operator, component={name}]" for name in bound) + "}"
    )
    lines.append("     Enabled services:{" + ", ".join(f"{{{name}}}" for name in listed) + "}")
    return "\n".join([*lines, "     Binding services:{}", "     Crashed services:{}]", ""])


def _window(device: SimulatedDevice, _: Sequence[str]) -> str:
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
    return f"POWER MANAGER (dumpsys power)\n\nPower Manager State:\n  mWakefulness={awake}\n"


def _full(component: str) -> str:
    package, _, name = component.partition("/")
    return f"{package}/{package}{name}" if name.startswith(".") else component


_SERVICES: Mapping[str, Callable[[SimulatedDevice, Sequence[str]], str]] = {
    "package": _package,
    "accessibility": _accessibility,
    "window": _window,
    "activity": _activity,
    "battery": _battery,
    "power": _power,
}
