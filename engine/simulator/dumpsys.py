"""The output of ``dumpsys`` for the services that host tools query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from clawperator.engine.contracts.operator_identity import service_of
from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.packages import dumpsys_package
from clawperator.engine.simulator.platform import Platform
from clawperator.engine.simulator.procfs import FREE_KB, TOTAL_KB, pid_of, processes

_RUNNING = (
    "Service[label=Clawperator Operator, feedbackType[FEEDBACK_GENERIC], capabilities=33, eventTypes=TYPES_ALL_MASK, "
    "notificationTimeout=100, requestA11yBtn=false]"
)


def dumpsys(device: Platform, service: str, args: Sequence[str] = ()) -> str:
    """Return a system service's dump. Raises ``CommandError`` for one that does not exist."""
    dump = DUMPS.get(service)
    if dump is None:
        raise CommandError(f"Can't find service: {service}", 0)
    return dump(device, [arg for arg in args if not arg.startswith("-")])


def _package(device: Platform, names: Sequence[str]) -> str:
    wanted = names or list(device.packages)
    found = [device.packages[name] for name in wanted if name in device.packages]
    if not found:
        return f"Unable to find package: {names[0]}\n"
    users = device.users
    return "\n".join(
        dumpsys_package(
            package, device.activities.launcher_activity(package.name), device.sdk, users.all, users.current
        )
        for package in found
    )


def _accessibility(device: Platform, _: Sequence[str]) -> str:
    """The format of Android 10 and later, or of earlier ones; running services are listed by their label only."""
    manager = device.accessibility
    installed = [service_of(package) for package in device.operator_pids]
    listed, on = manager.listed, manager.on
    wanted = [service for service in installed if on and service in listed]
    bound = [service for service in wanted if manager.bound(service)]
    crashed = [service for service in wanted if service in manager.crashed]
    starting = manager.rebinding or device.scenario.of_device("service_down", how="binding") is not None
    binding = wanted if starting and not manager.ui_automation_held else []
    running = ",\n                     ".join(_RUNNING for _ in bound)
    head = "ACCESSIBILITY MANAGER (dumpsys accessibility)\n\n"
    current, others = device.users.current, [user for user in device.users.all if user < device.users.current]
    held = "\nUi Automation[eventTypes=TYPES_ALL_MASK, notificationTimeout=0]\n" if manager.ui_automation_held else ""
    if device.sdk < 29:
        facts = f"{{id={current}, currentUser=true, touchExplorationEnabled=false, displayMagnificationEnabled=false"
        for user in others:
            head += f"User state[attributes:{{id={user}, currentUser=false}}\n           services:{{}}]\n"
        if held and device.sdk < 28:  # its client has no label, on which the dump fails
            return f"{head}User state[attributes:{facts}, \nException occurred while dumping:\njava.lang.NullPointerException\n"
        return f"{head}User state[attributes:{facts}}}\n           services:{{{running}}}]\n{held}\n"
    facts = (
        f"{{id={current}, touchExplorationEnabled=false, serviceHandlesDoubleTap=false, displayMagnificationEnabled=false, "
        f"autoclickEnabled=false, installedServiceCount={len(installed)}}}"
    )
    state = [f"currentUserId={current}"]
    for user in others:
        state += [
            "User state[",
            f"     attributes:{{id={user}}}",
            "     Bound services:{}",
            "     Enabled services:{}]",
        ]
    state += [
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


def _window(device: Platform, arguments: Sequence[str]) -> str:
    if "policy" in arguments:
        return _policy(device)
    window, (width, height) = device.ui.window(), device.ui.display
    user = device.users.current
    name = _SHADE if device.unseen == "other_window" else f"Window{{6d2f1a4 u{user} {_full(window.component)}}}"
    focus = name if device.ui.awake else "null"
    fronts = f"  mCurrentFocus={focus}\n  mFocusedApp=ActivityRecord{{a1b2c3d u{user} {window.component} t12}}\n"
    if "windows" in arguments:
        return f"{_windows(device)}{'' if device.sdk >= 29 else fronts}"
    second = _SECOND_CONTENTS if device.sdk >= 29 and device.unseen == "other_display" else ""
    return (
        "WINDOW MANAGER LAST ANR (dumpsys window lastanr)\n  <no ANR has occurred since boot>\n\n"
        + ("" if arguments else f"{_policy(device)}\n")
        + f"WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n{second}"
        f"  Display: mDisplayId=0\n    init={device.ui.metrics.width}x{device.ui.metrics.height}"
        f" {device.ui.metrics.density}dpi cur={width}x{height} rotation={device.ui.rotation}\n"
        f"{fronts if device.sdk >= 29 or not arguments else ''}"
        f"  WindowOrientationListener\n      mProposedRotation={device.ui.rotation}\n"
        f"      mPredictedRotation={next(device.tilts)}\n"
        f"  mAwake={str(device.ui.awake).lower()}\n"
    )


_SECOND_CONTENTS = (
    "  Display: mDisplayId=2 (organized)\n    init=1920x1080 213dpi cur=1920x1080 rotation=0\n"
    "  mCurrentFocus=Window{5c0e9a2 u0 com.example.cluster/com.example.cluster.MapActivity}\n"
    "  mFocusedApp=ActivityRecord{77ab01c u0 com.example.cluster/.MapActivity t3}\n"
)
"""The window manager lists displays in the order in which they had the focus."""
_SHADE = "Window{91c2d07 u0 NotificationShade}"


def _windows(device: Platform) -> str:
    """The app's window and the system's, in the format of Android 9 and later; top first."""
    window = device.ui.window()
    secure = " SECURE" if device.ui.secure or window.screen.secure else ""
    rows = [("Window{2f0d3b1 u0 StatusBar}", "STATUS_BAR", "NOT_FOCUSABLE SPLIT_TOUCH")]
    if device.unseen == "other_window":
        rows.insert(0, (_SHADE, "NOTIFICATION_SHADE", "TOUCHABLE_WHEN_WAKING SPLIT_TOUCH"))
    if device.ui.keyboard_shown:
        rows.append(("Window{5be1c93 u0 InputMethod}", "INPUT_METHOD", "NOT_FOCUSABLE LAYOUT_IN_SCREEN"))
    flags = f"LAYOUT_IN_SCREEN{secure} LAYOUT_INSET_DECOR HARDWARE_ACCELERATED"
    rows.append((f"Window{{6d2f1a4 u{device.users.current} {_full(window.component)}}}", "BASE_APPLICATION", flags))
    text = "WINDOW MANAGER WINDOWS (dumpsys window windows)\n"
    for number, (name, kind, own) in enumerate(rows):
        text += (
            f"  Window #{number} {name}:\n    mDisplayId=0 mSession=Session{{8d1e 1234:u0a10121}}\n"
            f"    mAttrs={{(0,0)(fillxfill) sim={{adjust=resize}} ty={kind} fmt=TRANSLUCENT\n      fl={own}\n"
            "      pfl=FORCE_DRAW_STATUS_BAR_BACKGROUND}\n    isOnScreen=true\n    isVisible=true\n"
        )
    return text


def _policy(device: Platform) -> str:
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
        "currentUser": str(device.users.current),
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


def _activity(device: Platform, arguments: Sequence[str]) -> str:
    part = {"a": "activities", "p": "processes"}.get(arguments[0], arguments[0]) if arguments else "activities"
    if part == "processes":
        return _running_processes(device)
    top = device.ui.window().component
    if part == "top":
        pid = pid_of(device, device.ui.package)
        return f"TASK {device.ui.package} id=12 userId=0\n  ACTIVITY {top} a1b2c3d pid={pid}\n"
    lines = ["ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)"]
    if device.sdk >= 29 and device.unseen == "other_display":
        lines += ["  topResumedActivity=ActivityRecord{77ab01c u0 com.example.cluster/.MapActivity t3}"]
    for number, task in enumerate(reversed(device.ui.tasks)):
        lines += [f"  * Task{{{number:x}7c1 #{12 - number} type=standard A=10121:{task.app.package}}}"]
    lines += [
        f"  mResumedActivity: ActivityRecord{{a1b2c3d u{device.users.current} {top} t12}}",
        f"  topResumedActivity=ActivityRecord{{a1b2c3d u{device.users.current} {top} t12}}",
    ]
    return "\n".join(lines) + "\n"


def _running_processes(device: Platform) -> str:
    lines = ["ACTIVITY MANAGER RUNNING PROCESSES (dumpsys activity processes)"]
    for row in processes(device):
        if row.name in device.packages:
            record = f"ProcessRecord{{{row.pid:07x} {row.pid}:{row.name}/{row.user.replace('_', '')}}}"
            lines += [f"  *APP* UID {device.packages[row.name].uid} {record}", f"    packageList={{{row.name}}}"]
    return "\n".join(lines) + "\n"


def _meminfo(device: Platform, names: Sequence[str]) -> str:
    """Of one package, or of the whole device."""
    head = "Applications Memory Usage (in Kilobytes):\n"
    if not names:
        return f"{head}\nTotal RAM: {TOTAL_KB:,}K (status normal)\n Free RAM: {FREE_KB:,}K\n"
    pid = pid_of(device, names[0])
    if not pid:
        return f"No process found for: {names[0]}\n"
    table: list[tuple[object, ...]] = [
        ("", "Pss", "Private", "Private", "SwapPss", "Rss", "Heap", "Heap", "Heap"),
        ("", "Total", "Dirty", "Clean", "Dirty", "Total", "Size", "Alloc", "Free"),
        ("", *("------",) * 8),
        ("Native Heap", 9_210, 9_148, 12, 20, 10_412, 21_504, 12_882, 4_210),
        ("TOTAL", 43_876, 30_120, 4_212, 64, 98_004, 32_768, 18_220, 9_044),
    ]
    rows = (f"{row[0]!s:>17}" + "".join(f"{value!s:>9}" for value in row[1:]) for row in table)
    return f"{head}\n** MEMINFO in pid {pid} [{names[0]}] **\n" + "".join(f"{row}\n" for row in rows)


def _battery(_: Platform, __: Sequence[str]) -> str:
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


def _power(device: Platform, _: Sequence[str]) -> str:
    awake = str(device.ui.awake).lower()
    return (
        "POWER MANAGER (dumpsys power)\n\nPower Manager State:\n"
        f"  mDirty=0x0\n  mWakefulness={'Awake' if device.ui.awake else 'Asleep'}\n  mWakefulnessChanging=false\n"
        f"  mIsPowered=true\n  mHoldingWakeLockSuspendBlocker=false\n  mHoldingDisplaySuspendBlocker={awake}\n"
        f"\nDisplay Power: state={'ON' if device.ui.awake else 'OFF'}\n"
    )


SECOND_DISPLAY: Final = "4619827551948147201"
"""The physical id of the second display."""
_SECOND_DISPLAY = (
    "  Display 2:\n    mDisplayId=2\n"
    '    mBaseDisplayInfo=DisplayInfo{"HDMI Screen", displayId 2, real 1920 x 1080, rotation 0, state ON, type EXTERNAL, '
    f'uniqueId "local:{SECOND_DISPLAY}", density 213}}\n'
)
_OUTER_DISPLAY = _SECOND_DISPLAY.replace("HDMI Screen", "Outer Screen").replace(
    "state ON, type EXTERNAL", "state OFF, type INTERNAL"
)


def _display(device: Platform, _: Sequence[str]) -> str:
    width, height = device.ui.display
    state = "ON" if device.ui.awake else "OFF"
    frame = f"Rect(0, 0 - {width}, {height})"
    folds = device.scenario.of_device("foldable") is not None
    second = _SECOND_DISPLAY if device.unseen == "other_display" else _OUTER_DISPLAY if folds else ""
    return (
        "DISPLAY MANAGER (dumpsys display)\n"
        "  mOnlyCore=false\n  mSafeMode=false\n"
        "  mViewports=[DisplayViewport{type=INTERNAL, valid=true, isActive=true, displayId=0, "
        f"uniqueId='local:4619827259835644672', physicalPort=0, orientation={device.ui.rotation}, "
        f"logicalFrame={frame}, physicalFrame={frame}, deviceWidth={width}, deviceHeight={height}}}]\n"
        f"\nDisplay States: size=1\n  Display Id=0\n  Display State={state}\n"
        f"\nLogical Displays: size={1 + bool(second)}\n  Display 0:\n    mDisplayId=0\n"
        f'    mBaseDisplayInfo=DisplayInfo{{"Built-in Screen", displayId 0, real {width} x {height}, '
        f'rotation {device.ui.rotation}, state {state}, type INTERNAL, uniqueId "local:4619827259835644672", '
        f"density {device.ui.metrics.density}}}\n"
    ) + second


def _input(device: Platform, _: Sequence[str]) -> str:
    width, height = device.ui.display
    frame = f"[0, 0, {width}, {height}]"
    return (
        "INPUT MANAGER (dumpsys input)\n\nInput Reader State:\n"
        "  Device 2: virtio_input_multi_touch_1\n    Sources: TOUCHSCREEN\n    Touch Input Mapper (mode - DIRECT):\n"
        f"      Viewport INTERNAL: displayId=0, uniqueId=local:4619827259835644672, port=0, "
        f"orientation={device.ui.rotation}, logicalFrame={frame}, physicalFrame={frame}, "
        f"deviceSize=[{width}, {height}], isActive=[1]\n"
        f"      SurfaceWidth: {width}px\n      SurfaceHeight: {height}px\n"
        f"      SurfaceOrientation: {device.ui.rotation}\n"
        f"\nInput Dispatcher State:\n  DispatchEnabled: true\n  DispatchFrozen: false\n{_touched(device)}"
    )


def _touched(device: Platform) -> str:
    """The windows that take touches, top first, as the input dispatcher of this Android prints them."""
    ui, (width, height) = device.ui, device.ui.display
    window = ui.window()
    dialog = window.nodes[0].seen
    app, shade = (6, _full(window.component)), device.unseen == "other_window"
    rows = [((at + 10, title), box) for at, (title, box) in enumerate(ui.over)]
    rows += [
        ((3, "StatusBar"), Bounds(0, 0, width, height // 40)),
        ((4, "NavigationBar0"), Bounds(0, height - height // 40, width, height)),
    ]
    if (keyboard := ui.keyboard_box) is not None:
        rows.append(((5, "InputMethod"), keyboard))
    rows.append((app, dialog))
    focus = (10, "NotificationShade") if shade and not device.scenario.of_device("window_over") else app
    text = ""
    for number, (window_id, box) in enumerate(rows):
        name, focused = _window_name(device, window_id), window_id == focus
        frame = f"[{box.left},{box.top}][{box.right},{box.bottom}]"
        keys = "0x0" if focused or window_id == app else "NOT_FOCUSABLE | TRUSTED_OVERLAY"
        if device.sdk >= 33:
            how = f"inputConfig={keys}, alpha=1.00, frame={frame}, globalScale=1.000000, "
        elif device.sdk >= 31:
            flags = "NOT_TOUCH_MODAL" if keys == "0x0" else "NOT_FOCUSABLE | NOT_TOUCH_MODAL"
            how = f"paused=false, focusable=true, visible=true, alpha=1.00, flags={flags}, type=0, frame={frame}, "
        else:
            flags = "0x81810120" if keys == "0x0" else "0x01840068"
            how = f"paused=false, hasFocus={str(focused).lower()}, visible=true, flags={flags}, type=0x00000001, frame={frame}, "
        owner = f"ownerPid={1000 + window_id[0]}, ownerUid={10_100 + window_id[0]}"
        text += f"      {number}: name={name}, displayId=0, {how}touchableRegion={frame}, {owner}, dispatchingTimeout=5000ms\n"
    held = _window_name(device, focus)
    if device.sdk < 29:
        return f"  FocusedWindow: name={held}\n  TouchStates: <no displays touched>\n  Windows:\n{text}"
    return f"  FocusedWindows:\n    displayId=0, name={held}\n  TouchStates: <no displays touched>\n  Display: 0\n    Windows:\n{text}"


def _window_name(device: Platform, window: tuple[int, str]) -> str:
    handle = f"{window[0]:x}d2f1a4"
    if device.sdk >= 35:
        return f"{handle} {window[1]}"
    return f"'Window{{{handle} u0 {window[1]}}}'" if device.sdk < 30 else f"'{handle} {window[1]}'"


def _input_method(device: Platform, _: Sequence[str]) -> str:
    shown = str(device.ui.keyboard_shown).lower()
    return (
        "Current Input Method Manager state:\n"
        f"  mCurMethodId={device.settings['secure'].get('default_input_method', 'null')}\n"
        f"  mShowRequested={shown} mShowExplicitlyRequested=false mShowForced=false mInputShown={shown}\n"
        f"\nInput method service state:\n  mIsInputViewShown={shown}\n"
    )


def _wifi(device: Platform, _: Sequence[str]) -> str:
    state = "enabled" if device.settings["global"].get("wifi_on") == "1" else "disabled"
    return f"Wi-Fi is {state}\n"


def _full(component: str) -> str:
    package, _, name = component.partition("/")
    return f"{package}/{package}{name}" if name.startswith(".") else component


def _dropbox(device: Platform, tags: Sequence[str]) -> str:
    return device.dropbox.dump(tags)


DUMPS: Mapping[str, Callable[[Platform, Sequence[str]], str]] = {
    "accessibility": _accessibility,
    "activity": _activity,
    "battery": _battery,
    "display": _display,
    "dropbox": _dropbox,
    "input": _input,
    "input_method": _input_method,
    "meminfo": _meminfo,
    "package": _package,
    "power": _power,
    "wifi": _wifi,
    "window": _window,
}
