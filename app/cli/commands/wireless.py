"""``devices pair|connect|disconnect``: devices over the network."""

from __future__ import annotations

import os

from clawperator.app.cli import confirmation, diagnostics
from clawperator.app.cli.command import Answer, Options
from clawperator.app.cli.engine_command import EngineCommand
from clawperator.app.cli.output import encode
from clawperator.app.cli.parsing.common_flags import NO_INPUT_FLAG, PROGRESS_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.values import invalid
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clawperator.engine import Engine
    from clawperator.engine.adb.wireless import Connected, MdnsService, Paired, QrOffer, Wireless

_MAX_MS = 600_000
_CODE_DIGITS = 6
_WHERE = "On the device: Settings, Developer options, Wireless debugging"


class Pair(EngineCommand):
    usage = "[<host:port>] [--code <n|-> | --qr] [--timeout-ms <n>] [options]"
    notes = (
        "Android 11 or newer: Settings, Developer options, Wireless debugging. With --qr, a code is drawn on stderr for\n"
        "'Pair device with QR code'; else pass the number of 'Pair device with pairing code' (--code - reads it from stdin,\n"
        "where other users cannot see it; on a terminal, the command asks for it). Without an address, it uses the device whose dialog adb\n"
        "discovers. After pairing, it connects to the device if adb discovers it.\n"
        "JSON: paired {address, guid}; device {serial, state, alreadyConnected}, or null with nextActions (and problem).\n"
        "--timeout-ms bounds each wait (120000 for a scan, 10000 for discovery, 30000 for pairing, 20000 for connecting).\n"
        "With --json-progress the QR code is a line on stderr instead: {event: qr, name, payload}."
    )
    examples = ("--qr", "192.168.1.86:37313 --code 924113", "192.168.1.86:37313 --code - < code.txt")
    flags = (
        Word("address", "address shown in the pairing dialog"),
        Flag("--code", "<n|->", "use this six-digit code; - reads it from stdin"),
        switch("--qr", "draw a QR code for the device to scan"),
        NO_INPUT_FLAG,
        PROGRESS_FLAG,
    )

    def check(self, options: Options) -> None:
        if options.qr and (options.address is not None or options.code is not None):
            raise EngineError(ErrorCode.USAGE, "--qr cannot be combined with an address or --code")
        options.limit = _limit(options)
        options.code = "" if options.qr else _code(options)

    async def call(self, engine: Engine, options: Options) -> Answer:
        return Answer(await _pair(engine.wireless, options), view="devices.paired")


class Connect(EngineCommand):
    usage = "[<host[:port]>] [--timeout-ms <n>] [options]"
    notes = (
        "The port is 5555 by default; Wireless debugging shows a different one. Without an address, it uses the device that adb\n"
        "discovers; if there are several, it lists them. Waits until the device is usable (20 s, or --timeout-ms) and reports its\n"
        "state if it is not. JSON: serial, state, alreadyConnected."
    )
    examples = ("", "192.168.1.86:39149", "192.168.1.90")
    flags = (Word("address", "address, or a service name discovered by adb (…._adb-tls-connect._tcp)"), PROGRESS_FLAG)

    def check(self, options: Options) -> None:
        options.limit = _limit(options)

    async def call(self, engine: Engine, options: Options) -> Answer:
        device = await _connect(engine.wireless, options)
        return Answer({"ok": True, **device.to_dict()}, view="devices.connected")


class Disconnect(EngineCommand):
    usage = "<host[:port]> | --all [options]"
    notes = "Accepts an address or a serial listed by `clawperator devices`. --all does not disconnect emulators. JSON: disconnected [serials]."
    examples = ("192.168.1.86:39149", "--all")
    flags = (Word("address", "address or serial"), switch("--all", "disconnect every network device"))

    def check(self, options: Options) -> None:
        if (options.address is None) is not options.all:
            raise self.missing("an address OR --all", example="--all")

    async def call(self, engine: Engine, options: Options) -> Answer:
        wireless = engine.wireless
        gone = await (wireless.disconnect_all() if options.all else wireless.disconnect(options.address))
        return Answer({"ok": True, "disconnected": list(gone)}, view="devices.disconnected")


def _limit(options: Options) -> dict[str, float]:
    """``--timeout-ms`` as the argument of each wait; without it each has its own limit."""
    if options.timeout_ms is None:
        return {}
    if not 1 <= options.timeout_ms <= _MAX_MS:
        raise invalid(f"--timeout-ms must be in [1, {_MAX_MS}]", "timeoutMs")
    return {"timeout": float(options.timeout_ms) / 1000}


def _code(options: Options) -> str:
    """The six digits of ``--code``, stdin or the terminal. Raises ``EngineError`` without them."""
    text = options.code
    if text is None:
        if not confirmation.may_ask(options):
            raise EngineError(
                ErrorCode.USAGE,
                "devices pair needs --code <n> (or --code -), or --qr",
                hint=f"{_WHERE}, Pair device with pairing code: it shows an address and a code.",
                extra={"example": "clawperator devices pair 192.168.1.86:37313 --code 924113"},
            )
        text = diagnostics.prompt(f"{_WHERE}, Pair device with pairing code. The code: ")
    elif text == "-":
        text = diagnostics.read_line()
    digits = "".join(text.split())
    if not (len(digits) == _CODE_DIGITS and digits.isascii() and digits.isdigit()):
        raise invalid(f"--code must be the {_CODE_DIGITS} digits that the device shows", "code")
    return digits


async def _pair(wireless: Wireless, options: Options) -> dict[str, object]:
    if options.qr:
        paired = await wireless.pair_by_qr(
            lambda offer: _show(offer, options), on_progress=options.on_progress, **options.limit
        )
    else:
        address = options.address or await _dialog(wireless, options)
        paired = await wireless.pair(address, options.code, on_progress=options.on_progress, **options.limit)
    return {"ok": True, "paired": paired.to_dict(), **await _device(wireless, paired, options)}


async def _device(wireless: Wireless, paired: Paired, options: Options) -> dict[str, object]:
    """Connect the paired device. If that fails, the pairing is still a success."""
    host = paired.address.rpartition(":")[0]
    again = [f"clawperator devices connect {host}:<port of the Wireless debugging screen>"]
    try:
        device = await wireless.connect_paired(paired, on_progress=options.on_progress, **options.limit)
    except EngineError as error:
        return {"device": None, "problem": error.to_dict(), "nextActions": again}
    return {"device": device.to_dict()} if device else {"device": None, "nextActions": again}


async def _dialog(wireless: Wireless, options: Options) -> str:
    """The address of the one open pairing dialog."""
    from clawperator.engine.adb.mdns import PAIRING

    found = await wireless.discover((PAIRING,), on_progress=options.on_progress, **options.limit)
    if len(found) > 1:
        raise _several(found, "devices show a pairing dialog", "pair")
    return found[0].address


async def _connect(wireless: Wireless, options: Options) -> Connected:
    if options.address is not None:
        return await wireless.connect(options.address, on_progress=options.on_progress, **options.limit)
    from clawperator.engine.adb.mdns import CONNECTABLE

    found = await wireless.discover(CONNECTABLE, on_progress=options.on_progress, **options.limit)
    if len(found) > 1:
        raise _several(found, "devices were discovered", "connect")
    return await wireless.connect_service(found[0], on_progress=options.on_progress, **options.limit)


def _several(found: Sequence[MdnsService], what: str, command: str) -> EngineError:
    return EngineError(
        ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
        f"{len(found)} {what}: {', '.join(service.address for service in found)}",
        hint=f"Choose one: `clawperator devices {command} {found[0].address}`.",
        details={"services": [service.to_dict() for service in found]},
    )


def _show(offer: QrOffer, options: Options) -> None:
    """Draw the code on the terminal, or write its text as a line of ``--json-progress``."""
    if options.json_progress:
        line = {"event": "qr", "job": "wireless", "name": offer.name, "payload": offer.payload}
        diagnostics.raw(encode(line).decode())
        return
    lines = qr_lines(offer.payload) if diagnostics.is_terminal() else []
    for line_of_code in lines:
        diagnostics.raw(line_of_code)
    if not lines:
        diagnostics.note("The terminal is too small for the QR code. Create one from the text below with another tool")
    diagnostics.note(f"QR code text: {offer.payload}")
    diagnostics.note(f"{_WHERE}, Pair device with QR code: point the camera at the code")


def qr_lines(payload: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Return a QR code for the terminal at stderr, black on white whatever its colours are; none if it is too narrow."""
    from shutil import get_terminal_size

    from clawperator.app.qr import drawing

    coloured = not env.get("NO_COLOR") and env.get("TERM") != "dumb"
    return drawing(payload, get_terminal_size().columns, blocks=diagnostics.takes("▀"), coloured=coloured)
