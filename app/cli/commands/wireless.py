"""``devices pair|connect|disconnect``: devices over the network, with what adb discovers and a QR code in the terminal."""

from __future__ import annotations

from clawperator.app.cli import confirmation, diagnostics, progress
from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer, encode
from clawperator.app.cli.parsing.values import invalid
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.adb.wireless import Connected, MdnsService, Paired, QrOffer, Wireless
    from clawperator.engine.progress import Tell

_MAX_MS = 600_000
_CODE_DIGITS = 6
_WHERE = "On the device: Settings, Developer options, Wireless debugging"


class Pair(Command):
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

    def configure(self, parser: Parser) -> None:
        parser.word("address", about="address shown in the pairing dialog")
        parser.value("--code", metavar="<n|->", about="use this six-digit code; - reads it from stdin")
        parser.switch("--qr", about="draw a QR code for the device to scan")
        parser.switch("--no-input", about="fail instead of asking for the code")
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        if options.qr and (options.address is not None or options.code is not None):
            raise EngineError(ErrorCode.USAGE, "--qr cannot be combined with an address or --code")
        seconds = _seconds(options)
        code = "" if options.qr else _code(options)
        from clawperator.app.cli.session import run

        with progress.shown(options) as tell:
            return run(options, lambda engine: _pair(engine.wireless, options, code, seconds, tell))


class Connect(Command):
    usage = "[<host[:port]>] [--timeout-ms <n>] [options]"
    notes = (
        "The port is 5555 by default; Wireless debugging shows a different one. Without an address, it uses the device that adb\n"
        "discovers; if there are several, it lists them. Waits until the device is usable (20 s, or --timeout-ms) and reports its\n"
        "state if it is not. JSON: serial, state, alreadyConnected."
    )
    examples = ("", "192.168.1.86:39149", "192.168.1.90")

    def configure(self, parser: Parser) -> None:
        parser.word("address", about="address, or a service name discovered by adb (…._adb-tls-connect._tcp)")
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        seconds = _seconds(options)
        from clawperator.app.cli.session import run

        with progress.shown(options) as tell:
            device = run(options, lambda engine: _connect(engine.wireless, options.address, seconds, tell))
        return Answer({"ok": True, **device.to_dict()}, view="connected")


class Disconnect(Command):
    usage = "<host[:port]> | --all [options]"
    notes = "Accepts an address or a serial listed by `clawperator devices`. --all does not disconnect emulators. JSON: disconnected [serials]."
    examples = ("192.168.1.86:39149", "--all")

    def configure(self, parser: Parser) -> None:
        parser.word("address", about="address or serial")
        parser.switch("--all", about="disconnect every network device")

    def run(self, options: Namespace) -> Answer:
        if (options.address is None) is not options.all:
            message = "devices disconnect requires an address OR --all"
            raise EngineError(ErrorCode.USAGE, message, extra={"example": "clawperator devices disconnect --all"})
        from clawperator.app.cli.session import run

        gone = run(
            options,
            lambda engine: (
                engine.wireless.disconnect_all() if options.all else engine.wireless.disconnect(options.address)
            ),
        )
        return Answer({"ok": True, "disconnected": list(gone)}, view="disconnected")


# -- what the flags say


def _seconds(options: Namespace) -> float | None:
    """``--timeout-ms`` in seconds; ``None`` leaves each wait its own limit."""
    if options.timeout_ms is None:
        return None
    if not 1 <= options.timeout_ms <= _MAX_MS:
        raise invalid(f"--timeout-ms must be in [1, {_MAX_MS}]", "timeoutMs")
    return float(options.timeout_ms) / 1000


def _code(options: Namespace) -> str:
    """The six digits, wherever they come from. Raises ``EngineError`` where there are none to be had."""
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


# -- what is done


async def _pair(wireless: Wireless, options: Namespace, code: str, seconds: float | None, tell: Tell) -> Answer:
    limit = {} if seconds is None else {"timeout": seconds}
    if options.qr:
        paired = await wireless.pair_by_qr(lambda offer: _show(offer, options), tell=tell, **limit)
    else:
        address = options.address or await _dialog(wireless, limit, tell)
        paired = await wireless.pair(address, code, tell=tell, **limit)
    document = {"ok": True, "paired": paired.to_dict(), **await _device(wireless, paired, limit, tell)}
    return Answer(document, view="paired")


async def _device(wireless: Wireless, paired: Paired, limit: dict[str, float], tell: Tell) -> dict[str, object]:
    """The paired device, connected. That this did not work makes the pairing no failure."""
    host = paired.address.rpartition(":")[0]
    again = [f"clawperator devices connect {host}:<port of the Wireless debugging screen>"]
    try:
        device = await wireless.connect_paired(paired, tell=tell, **limit)
    except EngineError as error:
        return {"device": None, "problem": error.to_dict(), "nextActions": again}
    return {"device": device.to_dict()} if device else {"device": None, "nextActions": again}


async def _dialog(wireless: Wireless, limit: dict[str, float], tell: Tell) -> str:
    """The address of the one pairing dialog that is open."""
    from clawperator.engine.adb.mdns import PAIRING

    found = await wireless.discover((PAIRING,), tell=tell, **limit)
    if len(found) > 1:
        raise _several(found, "devices show a pairing dialog", "pair")
    return found[0].address


async def _connect(wireless: Wireless, address: str | None, seconds: float | None, tell: Tell) -> Connected:
    limit = {} if seconds is None else {"timeout": seconds}
    if address is not None:
        return await wireless.connect(address, tell=tell, **limit)
    from clawperator.engine.adb.mdns import CONNECTABLE

    found = await wireless.discover(CONNECTABLE, tell=tell, **limit)
    if len(found) > 1:
        raise _several(found, "devices were discovered", "connect")
    return await wireless.connect_service(found[0], tell=tell, **limit)


def _several(found: Sequence[MdnsService], what: str, command: str) -> EngineError:
    return EngineError(
        ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
        f"{len(found)} {what}: {', '.join(service.address for service in found)}",
        hint=f"Choose one: `clawperator devices {command} {found[0].address}`.",
        details={"services": [service.to_dict() for service in found]},
    )


def _show(offer: QrOffer, options: Namespace) -> None:
    """Draw the code for a camera, or hand its text to the program that reads our progress. The one place that shows it."""
    if options.json_progress:
        line = {"event": "qr", "job": "wireless", "name": offer.name, "payload": offer.payload}
        diagnostics.raw(encode(line).decode())
        return
    lines: list[str] = []
    if diagnostics.is_terminal():
        from clawperator.app.cli.pretty import qr

        lines = qr.for_terminal(offer.payload)
    for line_of_code in lines:
        diagnostics.raw(line_of_code)
    if not lines:
        diagnostics.note("The terminal is too small for the QR code. Create one from the text below with another tool")
    diagnostics.note(f"QR code text: {offer.payload}")
    diagnostics.note(f"{_WHERE}, Pair device with QR code: point the camera at the code")
