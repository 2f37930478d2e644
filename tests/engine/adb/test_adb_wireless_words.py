"""What is read and written around wireless debugging, without any server."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.engine.adb.addresses import parse_endpoint
from clawperator.engine.adb.mdns import (
    CONNECT,
    LEGACY,
    PAIRING,
    Endpoint,
    MdnsService,
    discovery_problem,
    is_network_serial,
    parse_services,
    split_endpoint,
)
from clawperator.engine.adb.pairing import Paired, QrOffer, check_code, pair_outcome
from clawperator.engine.adb.presence import parse_devices
from clawperator.engine.adb.reachability import connect_outcome, connect_refusal
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.simulator.adb_network import _QR
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "device"
PHONE = "adb-0A1B2C3D4E5F6G-a4QqY3"
ROWS = (
    MdnsService(PHONE, CONNECT, Endpoint("192.168.1.86", 39149)),
    MdnsService(PHONE, PAIRING, Endpoint("192.168.1.86", 37313)),
    MdnsService("adb-1122334455", LEGACY, Endpoint("192.168.1.90", 5555)),
)
CODE = "924113"


# -- announcements -----------------------------------------------------------------------------------------------------


def test_the_captured_list_with_and_without_its_headline() -> None:
    text = (DATA / "adb-mdns-services.txt").read_text()
    assert parse_services(text) == ROWS
    assert parse_services(text.partition("\n")[2]) == ROWS
    assert [service.serial for service in ROWS[:1]] == [f"{PHONE}._adb-tls-connect._tcp"]


@table(
    ("row", "expected"),
    [
        ("a\t_adb-tls-connect._tcp.\t10.0.0.1:1", MdnsService("a", CONNECT, Endpoint("10.0.0.1", 1))),  # bonjour
        ("a\t_adb-tls-connect._tcp.local.\t10.0.0.1:1\r", MdnsService("a", CONNECT, Endpoint("10.0.0.1", 1))),
        ("a (2)    _adb-tls-pairing._tcp    h:65535", MdnsService("a (2)", PAIRING, Endpoint("h", 65535))),
        ("a\t_adb-tls-connect._tcp\t[fe80::1]:5", MdnsService("a", CONNECT, Endpoint("fe80::1", 5))),
        ("a\t_adb-tls-connect._tcp\tfe80::1:5", MdnsService("a", CONNECT, Endpoint("fe80::1", 5))),
        ("a\t_adb-tls-connect._tcp\t10.0.0.1:1\textra", MdnsService("a", CONNECT, Endpoint("10.0.0.1", 1))),
        ("a\t_adb-tls-connect._tcp\t0.0.0.0:1", None),  # what openscreen prints of an IPv6-only device
        ("a\t_adb-tls-connect._tcp\t10.0.0.1:0", None),
        ("a\t_adb-tls-connect._tcp\t10.0.0.1:65536", None),
        ("a\t_adb-tls-connect._tcp\t10.0.0.1:²", None),
        ("a\t_adb-tls-connect._tcp\t[nonsense]:5", None),
        ("\t_adb-tls-connect._tcp\t10.0.0.1:1", None),
        ("* daemon started successfully", None),
        ("ERROR: mdns discovery disabled", None),
    ],
)
def test_rows_of_other_servers(row: str, expected: MdnsService | None) -> None:
    assert parse_services(row) == ((expected,) if expected else ())


def test_a_repeated_row_counts_once_and_an_endless_one_not_at_all() -> None:
    row = "a\t_adb-tls-connect._tcp\t10.0.0.1:1\n"
    assert len(parse_services(row * 3)) == 1
    assert parse_services("x" * 5000 + row) == ()


@given(st.text())
@example("null")
@example("")
def test_no_text_breaks_the_parsers(text: str) -> None:
    for service in parse_services(text):
        assert service.name
        assert 0 < service.endpoint.port < 65536
    split_endpoint(text)
    discovery_problem(text)
    is_network_serial(text)
    connect_outcome(text)


NAMES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1, max_size=63)


@given(NAMES, st.sampled_from([CONNECT, PAIRING, LEGACY]), st.ip_addresses(), st.integers(1, 65535))
def test_what_a_server_prints_is_read_back(
    name: str, kind: str, ip: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int
) -> None:
    service = MdnsService(name, kind, Endpoint(str(ip), port))
    expected = () if ip.is_unspecified else (service,)
    assert parse_services(f"{name}\t{kind}\t{service.address}\n") == expected
    assert split_endpoint(service.address) == service.endpoint


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("mdns daemon version [Openscreen discovery 0.0.0]", ""),
        ("ERROR: mdns discovery disabled", "mdns discovery disabled"),
        ("ERROR: mdns daemon unavailable\n", "mdns daemon unavailable"),
        ("ERROR", "no reason given"),
    ],
)
def test_whether_the_server_looks_for_devices(answer: str, problem: str) -> None:
    assert discovery_problem(answer) == problem


def test_captured_serials_of_network_devices(corpus: Path) -> None:
    files = sorted((corpus / "device").glob("adb-devices-tls-*.txt"))
    entries = [entry for file in files for entry in parse_devices(file.read_text())]
    assert [(entry.serial, entry.state) for entry in entries] == [
        (f"{PHONE}._adb-tls-connect._tcp", "device"),
        ("emulator-5554", "device"),
        ("adb-13e75597-Upleco (2)._adb-tls-connect._tcp", "device"),
    ]
    assert [is_network_serial(entry.serial) for entry in entries] == [True, False, True]


# -- addresses ---------------------------------------------------------------------------------------------------------


@table(
    ("text", "expected"),
    [
        ("192.168.1.86:37313", "192.168.1.86:37313"),
        ("  192.168.1.86:1\n", "192.168.1.86:1"),
        ("[fe80::1%wlan0]:5", "[fe80::1%wlan0]:5"),
        ("[::1]", "[::1]:5555"),
        ("phone.local", "phone.local:5555"),
        ("my_phone-2", "my_phone-2:5555"),
        ("10.0.0.1", "10.0.0.1:5555"),
    ],
)
def test_addresses(text: str, expected: str) -> None:
    assert str(parse_endpoint(text, default_port=5555)) == expected


@table(
    ("text", "complaint"),
    [
        ("", "empty"),
        (" \t", "empty"),
        ("10.0.0.1", "no port"),
        ("10.0.0.1:", "port from 1"),
        ("10.0.0.1:0", "port from 1"),
        ("10.0.0.1:65536", "port from 1"),
        ("10.0.0.1:٣", "port from 1"),
        ("10.0.0.1:-5", "port from 1"),
        ("10.0.0.256:5", "IPv4"),
        ("1.2.3:5", "IPv4"),
        ("::1:5", "brackets"),
        ("[::1:5", "brackets"),
        ("[10.0.0.1]:5", "host name|brackets|IPv6"),
        ("[:]:5", "IPv6"),
        ("a b:5", "host name"),
        ("a;reboot:5", "host name"),
        ("a\x1b[2J:5", "host name"),
        ("-a:5", "host name"),
        ("a..b:5", "host name"),
        ("ä:5", "host name"),
        ("x" * 300, "longer"),
        (f"{'x' * 64}:5", "host name"),
    ],
)
def test_addresses_that_are_refused_name_the_field(text: str, complaint: str) -> None:
    with pytest.raises(EngineError, match=complaint) as caught:
        parse_endpoint(text, "target")
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert caught.value.details == {"path": "target"}
    assert caught.value.message.startswith("target ")
    assert caught.value.message.isprintable()


@given(st.text(max_size=300))
def test_an_accepted_address_holds_nothing_that_ends_a_service_string(text: str) -> None:
    try:
        accepted = str(parse_endpoint(text, default_port=5555))
    except EngineError as error:
        assert error.details == {"path": "address"}  # noqa: PT017 - either way is right
    else:
        assert accepted.isascii()
        assert accepted.isprintable()
        assert not set(accepted) & set(" ;'\"`$\\/")
        assert parse_endpoint(accepted) == parse_endpoint(text, default_port=5555)


# -- codes and QR ------------------------------------------------------------------------------------------------------


def test_a_qr_offer_is_new_each_time_and_keeps_its_password_to_itself() -> None:
    offers = [QrOffer.fresh() for _ in range(50)]
    assert len({offer.name for offer in offers}) == len({offer.password for offer in offers}) == 50
    for offer in offers:
        assert (match := _QR.fullmatch(offer.payload))
        assert match.groups() == (offer.name, offer.password)
        assert check_code(offer.password) == offer.password
        assert len(offer.name) <= 63  # what a DNS label holds
        assert offer.password not in repr(offer)
        assert len(offer.password) >= 12


@pytest.mark.parametrize(("code", "expected"), [("924113", "924113"), (" 924 113\n", "924113"), ("aB3", "aB3")])
def test_codes(code: str, expected: str) -> None:
    assert check_code(code) == expected


@table("code", ["", " ", "1:2", "٣٣٣٣٣٣", "12\x003", "1" * 65])
def test_codes_that_no_device_shows(code: str) -> None:
    with pytest.raises(EngineError) as caught:
        check_code(code)
    assert caught.value.details == {"path": "code"}
    assert not code.strip() or code.strip() not in str(caught.value)


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guid", ["adb-1-a", "adb-13e75597-Upleco (2)", "", f"adb-{CODE}"])
def test_a_paired_device(guid: str) -> None:
    words = f"Successfully paired to 10.0.0.1:5 [guid={guid}]"
    assert pair_outcome(words, "10.0.0.1:5", CODE) == Paired("10.0.0.1:5", guid)


@table(
    ("words", "next_step"),
    [
        ("Failed: Wrong password or connection was dropped.", "the code that it shows"),
        ("Failed: Unable to start pairing client.", "Use the address of the pairing dialog"),
        ("Failed to parse address for pairing: bad port", "the address and code"),
        ("Invalid port while parsing address [x]", "the address and code"),
        ("Failed: unable to create pairing client.", "the address and code"),
        ("", "the address and code"),
        (f"something new about {CODE}", "the address and code"),
    ],
)
def test_pairings_that_failed(words: str, next_step: str) -> None:
    with pytest.raises(EngineError) as caught:
        pair_outcome(words, "10.0.0.1:5", CODE)
    assert caught.value.code is ErrorCode.PAIRING_FAILED
    assert words.replace(CODE, "***") in caught.value.message
    assert next_step in caught.value.hint
    assert CODE not in repr(caught.value.to_dict())


@given(st.text())
def test_any_other_answer_to_a_pairing_is_an_error_without_the_code(words: str) -> None:
    with pytest.raises(EngineError) as caught:
        pair_outcome(words + CODE, "10.0.0.1:5", CODE)
    assert CODE not in repr(caught.value.to_dict())


@table(
    ("words", "outcome"),
    [
        ("connected to 127.0.0.1:5555", ("127.0.0.1:5555", False)),
        ("already connected to [::1]:5555", ("[::1]:5555", True)),
        ("connected to adb-1 (2)._adb-tls-connect._tcp\n", ("adb-1 (2)._adb-tls-connect._tcp", False)),
        ("failed to authenticate to a:1", ("a:1", False)),
        ("failed to connect to a:1", None),
        ("unable to connect to a:1", None),
        ("cannot connect to daemon at tcp:5037: Connection refused", None),
        ("", None),
    ],
)
def test_what_connect_answers(words: str, outcome: tuple[str, bool] | None) -> None:
    assert connect_outcome(words) == outcome


@table(
    ("words", "next_step"),
    [
        ("failed to connect to 'a:1': Connection refused", "Nothing listens on this port"),
        ("failed to connect to 'a:1': No route to host", "same network"),
        ("failed to connect to 'a:1': Operation timed out", "same network"),
        ("failed to resolve host: 'a': Name or service not known", "use the address"),
        ("failed to connect to a:1", "clawperator devices pair"),
        ("", "clawperator devices pair"),
    ],
)
def test_connections_that_failed_say_what_to_try(words: str, next_step: str) -> None:
    error = connect_refusal(words, "a:1")
    assert error.code is ErrorCode.DEVICE_NOT_FOUND
    assert next_step in error.hint
    assert error.details["deviceId"] == "a:1"
