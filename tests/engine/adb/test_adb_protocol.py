"""The framing without any socket: conversations are driven by hand from byte strings."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from io import BytesIO
from itertools import pairwise
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.engine.adb import protocol, sync
from clawperator.engine.adb.failures import TransportError, refusal
from clawperator.engine.adb.protocol import STDERR, STDOUT, Address, ShellDecoder, server_address, shell_packet
from clawperator.engine.adb.sync import FileStat
from clawperator.engine.errors import EngineError, ErrorCode
from tests.support import table

T = TypeVar("T")


def drive(talk: Generator[bytes | int, bytes, T], answer: bytes) -> tuple[T, bytes]:
    """The conversation's result and all that it sent; the answer must be used up exactly."""
    sent = b""
    try:
        step = next(talk)
        while True:
            if isinstance(step, bytes):
                sent += step
                step = next(talk)
            else:
                assert len(answer) >= step, "the conversation asks for more than the answer holds"
                taken, answer = answer[:step], answer[step:]
                step = talk.send(taken)
    except StopIteration as stop:
        assert answer == b""
        return stop.value, sent


# -- address -----------------------------------------------------------------------------------------------------------


@table(
    ("env", "address"),
    [
        ({}, Address("127.0.0.1", 5037)),
        ({"ANDROID_ADB_SERVER_PORT": "5040"}, Address("127.0.0.1", 5040)),
        ({"ANDROID_ADB_SERVER_PORT": ""}, Address("127.0.0.1", 5037)),
        ({"ANDROID_ADB_SERVER_ADDRESS": "box", "ANDROID_ADB_SERVER_PORT": "1"}, Address("box", 1)),
        ({"ADB_SERVER_SOCKET": "tcp:5041", "ANDROID_ADB_SERVER_PORT": "nonsense"}, Address("127.0.0.1", 5041)),
        ({"ADB_SERVER_SOCKET": "tcp:localhost:5041"}, Address("127.0.0.1", 5041)),
        ({"ADB_SERVER_SOCKET": "tcp:10.0.2.2:5037"}, Address("10.0.2.2", 5037)),
        ({"ADB_SERVER_SOCKET": "tcp:[::1]:5038"}, Address("::1", 5038)),
        ({"ADB_SERVER_SOCKET": "localfilesystem:/run/adb.sock"}, Address(path="/run/adb.sock")),
        ({"ADB_SERVER_SOCKET": "localabstract:adb"}, Address(path="\0adb")),
    ],
)
def test_the_address_is_the_one_that_adb_itself_would_use(env: dict[str, str], address: Address) -> None:
    assert server_address(env) == address


@table("spec", ["tcp:", "tcp:host:", "tcp:0", "tcp:65536", "tcp:٣", "vsock:1:2", "local:", "x", "tcp:-1"])
def test_a_value_that_names_no_address_is_refused_with_the_variable(spec: str) -> None:
    with pytest.raises(EngineError, match="ADB_SERVER_SOCKET") as caught:
        server_address({"ADB_SERVER_SOCKET": spec})
    assert caught.value.code is ErrorCode.ADB_SERVER_FAILED
    with pytest.raises(EngineError, match="ANDROID_ADB_SERVER_PORT"):
        server_address({"ANDROID_ADB_SERVER_PORT": spec})


@pytest.mark.parametrize("spec", ["tcp:127.0.0.1:5041", "tcp:[::1]:9", "localfilesystem:/a", "localabstract:b"])
def test_an_address_prints_as_adb_writes_it(spec: str) -> None:
    address = server_address({"ADB_SERVER_SOCKET": spec})
    assert str(address) == spec
    assert address.is_local


def test_only_this_machine_is_local() -> None:
    assert not Address("192.168.1.5", 5037).is_local
    assert Address("127.0.1.1", 5037).is_local


# -- requests ----------------------------------------------------------------------------------------------------------


def test_a_query() -> None:
    assert drive(protocol.query("host:version"), b"OKAY00040029") == ("0029", b"000chost:version")
    assert drive(protocol.query("host:devices"), b"OKAY0000")[0] == ""


def test_the_length_counts_bytes() -> None:
    assert protocol.encode_request("é") == b"0002\xc3\xa9"


@pytest.mark.parametrize("limit", [protocol.SERVICE_LIMIT, protocol.SERVICE_LIMIT_V1])
def test_a_service_string_that_would_abort_the_server_is_never_encoded(limit: int) -> None:
    assert len(protocol.encode_request("x" * (limit - 1), limit)) == limit - 1 + 4
    for text in ("x" * limit, "ü" * (limit // 2 + 1)):
        assert not protocol.fits(text, limit)
        with pytest.raises(EngineError) as caught:
            protocol.encode_request(text, limit)
        assert caught.value.code is ErrorCode.PAYLOAD_TOO_LARGE


def test_selecting_a_device_returns_its_transport_id() -> None:
    number, sent = drive(protocol.select_device("abc"), b"OKAY" + (7).to_bytes(8, "little"))
    assert (number, sent) == (7, b"0015host:tport:serial:abc")


@table(
    ("text", "code"),
    [
        ("device 'abc' not found", ErrorCode.DEVICE_NOT_FOUND),
        ("device offline", ErrorCode.DEVICE_OFFLINE),
        ("device still connecting", ErrorCode.DEVICE_OFFLINE),
        (
            "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\nTry 'adb kill-server' if that seems wrong.",
            ErrorCode.DEVICE_UNAUTHORIZED,
        ),
        ("device still authorizing", ErrorCode.DEVICE_UNAUTHORIZED),
        ("no devices/emulators found", ErrorCode.NO_DEVICES),
        ("no emulators found", ErrorCode.NO_DEVICES),
        ("more than one device/emulator", ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED),
        ("more than one emulator", ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED),
        ("insufficient permissions for device: user in plugdev group", ErrorCode.ADB_NO_USB_PERMISSIONS),
        ("closed", ErrorCode.DEVICE_SHELL_UNAVAILABLE),
        ("", ErrorCode.DEVICE_SHELL_UNAVAILABLE),
    ],
)
def test_refusals_become_codes(text: str, code: ErrorCode) -> None:
    data = text.encode()
    with pytest.raises(EngineError) as caught:
        drive(protocol.select_device("abc"), b"FAIL%04x" % len(data) + data)
    assert caught.value.code is code
    assert caught.value.details["deviceId"] == "abc"
    assert not isinstance(caught.value, TransportError)


def test_a_refusal_without_a_device_blames_the_server() -> None:
    assert refusal("unknown host service").code is ErrorCode.ADB_SERVER_FAILED


@table("answer", [b"HTTP", b"\0\0\0\0", b"OKAYzzzz", b"FAIL  -1", b"OKAY1_00", b"OKAY+001"])
def test_an_answer_from_something_else_than_adb_is_an_error(answer: bytes) -> None:
    with pytest.raises(EngineError) as caught:
        drive(protocol.query("host:version"), answer)
    assert caught.value.code is ErrorCode.ADB_SERVER_FAILED


@given(st.binary(max_size=64), st.sampled_from(["query", "select", "stat", "chunk", "finish"]))
def test_no_answer_escapes_the_error_type(answer: bytes, what: str) -> None:
    talks: dict[str, Callable[[], Generator[bytes | int, bytes, object]]] = {
        "query": lambda: protocol.query("host:x"),
        "select": lambda: protocol.select_device("s"),
        "stat": lambda: sync.sync_stat("/p", "s"),
        "chunk": lambda: sync.sync_next_chunk("s"),
        "finish": lambda: sync.sync_finish("s"),
    }
    talk = talks[what]()
    stream = BytesIO(answer + bytes(1_000))
    with suppress(StopIteration, EngineError):
        step = next(talk)
        for _ in range(50):
            step = next(talk) if isinstance(step, bytes) else talk.send(stream.read(step).ljust(step, b"\0"))
    talk.close()


# -- shell v2 ----------------------------------------------------------------------------------------------------------

PACKETS = st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.binary(max_size=300)), max_size=12)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:stop] for start, stop in pairwise(edges)]


@given(PACKETS, st.integers(0, 255), st.lists(st.integers(0, 10_000), max_size=20))
@example([(STDOUT, b"a"), (STDERR, b"b")], 1, list(range(40)))
def test_the_channels_come_out_whole_wherever_the_reads_are_cut(
    packets: list[tuple[int, bytes]], code: int, cuts: list[int]
) -> None:
    data = b"".join(shell_packet(*packet) for packet in packets) + shell_packet(protocol.EXIT, bytes([code]))
    decoder = ShellDecoder()
    got = [piece for part in split(data, cuts) for piece in decoder.feed(part)]
    for channel in (STDOUT, STDERR):
        assert b"".join(piece for name, piece in got if name == channel) == b"".join(
            piece for name, piece in packets if name == channel
        )
    assert decoder.exit_code == code


def test_every_single_byte_boundary() -> None:
    data = shell_packet(STDOUT, b"out") + shell_packet(STDERR, b"err") + shell_packet(protocol.EXIT, b"\x89")
    for cut in range(len(data) + 1):
        decoder = ShellDecoder()
        got = decoder.feed(data[:cut]) + decoder.feed(data[cut:])
        assert b"".join(piece for _, piece in got) == b"outerr"
        assert decoder.exit_code == 137


def test_neighbours_of_one_channel_are_joined_and_order_is_kept() -> None:
    data = b"".join(shell_packet(*p) for p in [(STDOUT, b"a"), (STDOUT, b"b"), (STDERR, b"c"), (STDOUT, b"d")])
    assert ShellDecoder().feed(data) == [(STDOUT, b"ab"), (STDERR, b"c"), (STDOUT, b"d")]


def test_part_of_a_packet_is_not_held_back() -> None:
    decoder = ShellDecoder()
    assert decoder.feed(shell_packet(STDOUT, b"hello")[:-2]) == [(STDOUT, b"hel")]
    assert decoder.exit_code is None


@pytest.mark.parametrize("data", [b"\x01\xff\xff\xff\xff", b"\x7f\0\0\0\0"])
def test_a_damaged_stream_is_an_error(data: bytes) -> None:
    with pytest.raises(TransportError):
        ShellDecoder().feed(data)


@given(st.binary(max_size=200))
def test_no_stream_escapes_the_error_type(data: bytes) -> None:
    with suppress(TransportError):
        ShellDecoder().feed(data)


# -- sync --------------------------------------------------------------------------------------------------------------


def u32(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def test_stat() -> None:
    stat, sent = drive(sync.sync_stat("/sdcard"), b"STAT" + u32(0o040755, 4096, 1_600_000_000))
    assert sent == b"STAT" + u32(7) + b"/sdcard"
    assert stat == FileStat(0o040755, 4096, 1_600_000_000)
    assert (stat.exists, stat.is_dir) == (True, True)
    assert not drive(sync.sync_stat("/x"), b"STAT" + u32(0, 0, 0))[0].exists


def test_a_refused_transfer_carries_the_device_s_reason() -> None:
    for talk in (sync.sync_finish("abc"), sync.sync_next_chunk("abc"), sync.sync_stat("/p", "abc")):
        with pytest.raises(EngineError, match="Permission denied") as caught:
            drive(talk, b"FAIL" + u32(17) + b"Permission denied")
        assert caught.value.details == {"deviceId": "abc", "reason": "Permission denied"}


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 1025, "ü" * 513])
def test_a_path_that_the_device_would_not_take_is_refused_here(path: str) -> None:
    with pytest.raises(EngineError) as caught:
        sync.sync_request(b"STAT", path)
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED


def test_chunks() -> None:
    assert drive(sync.sync_next_chunk(), b"DATA" + u32(10))[0] == 10
    assert drive(sync.sync_next_chunk(), b"DONE" + u32(0))[0] == 0
    with pytest.raises(TransportError):
        drive(sync.sync_next_chunk(), b"DATA" + u32(sync.SYNC_CHUNK + 1))


@pytest.mark.parametrize("encode", [protocol.encode_request, lambda text: sync.sync_request(b"STAT", text)])
def test_text_that_has_no_bytes_is_refused(encode: Callable[[str], bytes]) -> None:
    with pytest.raises(EngineError) as caught:
        encode("/\ud800")
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert encode("/\udcff").endswith(b"/\xff")  # a name that came from the device in no known encoding
