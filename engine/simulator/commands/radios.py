"""Enable and disable networks over the device's settings: ``svc``, ``cmd wifi``, ``cmd connectivity``; ``ip`` and ``ifconfig``."""

from __future__ import annotations

from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.process import Command, Process, Service

STAY_ON: Final = {"false": 0, "ac": 1, "usb": 2, "wireless": 4, "dock": 8, "true": 15}
_SVC_USAGE: Final = """Available commands:
    help     Show information about the subcommands
    power    Control the power manager
    data     Control mobile data connectivity
    wifi     Control the Wi-Fi manager
    nfc      Control NFC functions
    bluetooth Control Bluetooth service
"""
_WIFI_HELP: Final = "Use 'cmd wifi help' for available commands."
INTERFACES: Final = {"lo": ("127.0.0.1", 8), "eth0": ("10.0.2.15", 24), "wlan0": ("10.0.2.16", 24)}
"""Of an emulator: address and prefix length of its network."""


def _set(process: Process, key: str, *, on: bool) -> None:
    process.device.settings["global"][key] = str(int(on))


def _is_on(process: Process, key: str) -> bool:
    return process.device.settings["global"].get(key, "1") == "1"


async def svc(process: Process) -> int:
    """``svc wifi|data|bluetooth|nfc enable|disable`` and ``svc power stayon|reboot``."""
    name, verb, *rest = [*process.arguments, "", ""]
    switches = {"wifi": "wifi_on", "data": "mobile_data", "bluetooth": "bluetooth_on"}
    if name in switches and verb in ("enable", "disable"):
        _set(process, switches[name], on=verb == "enable")
        return 0
    if name == "nfc" and verb in ("enable", "disable"):
        raise CommandError("Got a null NfcAdapter, is the system running?", 0)
    if name == "power" and verb == "stayon" and rest[0] in STAY_ON:
        process.device.settings["global"]["stay_on_while_plugged_in"] = str(STAY_ON[rest[0]])
        return 0
    if name == "power" and verb == "reboot":
        process.device.reboot()
        return 0
    await process.out(_SVC_USAGE)
    return 0


async def wifi(process: Process, words: list[str]) -> int:
    if words[:1] == ["status"]:
        await process.lines(_wifi_status(process))
        return 0
    if words[:1] == ["set-wifi-enabled"]:
        if words[1:] not in (["enabled"], ["disabled"]):
            text = "Invalid args to set-wifi-enabled: expected 'enabled' or 'disabled'"
            raise CommandError(f"{text} but got '{' '.join(words[1:])}'", 255)
        _set(process, "wifi_on", on=words[1] == "enabled")
        return 0
    raise _unknown(words, _WIFI_HELP)


def _wifi_status(process: Process) -> list[str]:
    note = "Wifi scanning is only available when wifi is enabled"
    if not _is_on(process, "wifi_on"):
        return ["Wifi is disabled", note]
    return [
        "Wifi is enabled",
        note,
        "==== Primary ClientModeManager instance ====",
        'Wifi is connected to "AndroidWifi"',
    ]


async def connectivity(process: Process, words: list[str]) -> int:
    """``airplane-mode [enable|disable]``, from Android 11 on."""
    if words[:1] != ["airplane-mode"] or words[1:] not in ([], ["enable"], ["disable"]) or process.device.sdk < 30:
        raise _unknown(words)
    if words[1:]:
        _set(process, "airplane_mode_on", on=words[1] == "enable")
    else:
        await process.out("enabled\n" if _is_on(process, "airplane_mode_on") else "disabled\n")
    return 0


async def bluetooth(process: Process, words: list[str]) -> int:
    if words not in (["enable"], ["disable"]):
        raise _unknown(words)
    _set(process, "bluetooth_on", on=words == ["enable"])
    return 0


async def phone(process: Process, words: list[str]) -> int:
    if words not in (["data", "enable"], ["data", "disable"]):
        raise _unknown(words)
    _set(process, "mobile_data", on=words[1] == "enable")
    return 0


async def location(process: Process, words: list[str]) -> int:
    """``is-location-enabled`` and ``set-location-enabled true|false``."""
    secure = process.device.settings["secure"]
    if words[:1] == ["is-location-enabled"]:
        await process.out("false\n" if secure.get("location_mode", "0") == "0" else "true\n")
    elif words[:1] == ["set-location-enabled"] and words[1:2] in (["true"], ["false"]):
        secure["location_mode"] = "3" if words[1] == "true" else "0"
    else:
        raise _unknown(words)
    return 0


def _unknown(words: list[str], help_text: str = "") -> CommandError:
    text = f"Unknown command: {words[0]}" if words else help_text
    return CommandError(text, 255)


async def ip(process: Process) -> int:
    """``ip addr [show [dev] NAME]`` and ``ip route``; options such as ``-f inet`` are ignored."""
    words = [word for word in process.arguments if word not in ("-f", "inet", "-4", "-o", "show", "list", "dev")]
    topic, *names = words or [""]
    if topic in ("a", "addr", "address"):
        if missing := [name for name in names if name not in INTERFACES]:
            raise CommandError(f'Device "{missing[0]}" does not exist.')
        for number, (name, (address, prefix)) in enumerate(INTERFACES.items(), 1):
            if not names or name in names:
                kind = "loopback" if name == "lo" else "ether"
                await process.lines(
                    [
                        f"{number}: {name}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc pfifo_fast state UP group default qlen 1000",
                        f"    link/{kind} {_hardware(number)}",
                        f"    inet {address}/{prefix} scope {'host' if name == 'lo' else 'global'} {name}",
                        "       valid_lft forever preferred_lft forever",
                    ]
                )
        return 0
    if topic in ("r", "route"):
        await process.lines(
            f"10.0.2.0/24 dev {name} proto kernel scope link src {address} "
            for name, (address, _) in INTERFACES.items()
            if name != "lo"
        )
        return 0
    raise CommandError(
        f'Object "{topic}" is unknown, try "ip help".' if topic else "Usage: ip [ OPTIONS ] OBJECT { COMMAND }"
    )


def _hardware(number: int) -> str:
    return "00:00:00:00:00:00" if number == 1 else f"02:15:b2:00:00:{number:02x}"


async def ifconfig(process: Process) -> int:
    """``ifconfig [NAME]``."""
    names = [word for word in process.arguments if not word.startswith("-")] or list(INTERFACES)
    for name in names:
        if name not in INTERFACES:
            raise CommandError(f"ifconfig: {name}: No such device")
        number = list(INTERFACES).index(name) + 1
        address, prefix = INTERFACES[name]
        mask = "255.0.0.0" if prefix == 8 else "255.255.255.0"
        link = "Local Loopback" if name == "lo" else f"Ethernet  HWaddr {_hardware(number)}"
        await process.lines([f"{name:<9} Link encap:{link}", f"          inet addr:{address}  Mask:{mask} ", ""])
    return 0


RADIOS: Final[dict[str, Command]] = {"ifconfig": ifconfig, "ip": ip, "svc": svc}
SERVICES: Final[dict[str, Service]] = {
    "bluetooth_manager": bluetooth,
    "connectivity": connectivity,
    "location": location,
    "phone": phone,
    "wifi": wifi,
}
"""``cmd NAME …``."""
