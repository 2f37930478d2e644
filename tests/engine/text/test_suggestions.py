"""What people and agents are told to run is safe to run, whatever a device calls itself."""

from __future__ import annotations

import shlex

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.app.cli.parsing.parser import read
from clawperator.engine.text.suggestions import command_line
from tests.support import table


@table("serial", ["emulator-5554", "adb-X1 (2)._adb-tls-connect._tcp", "x;id", "$(id)", "a'b", "-s", "--json", "ü😀"])
def test_a_serial_comes_back_from_the_shell_and_the_parser_as_it_was(serial: str) -> None:
    words = shlex.split(command_line("doctor", serial, "--receiver-package", "com.clawperator.operator"))
    assert words[0] == "clawperator"
    command, rest, after = find_command(words[1:])
    options = read(build_parser(load(command)), command, rest, after)
    assert (command, options.device_id, options.receiver_package) == ("doctor", serial, "com.clawperator.operator")


def test_plain_serials_stay_plain() -> None:
    assert command_line("doctor", "10.0.0.2:5555") == "clawperator doctor --device-id 10.0.0.2:5555"
