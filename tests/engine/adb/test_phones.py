"""Which rows of the device list are one phone, by what devices report and by any text."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.phones import Phones, identity_of, rank, suspects, without_identity
from clawperator.engine.adb.presence import DeviceEntry, parse_devices
from clawperator.engine.fan_out import once_per_phone
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "device"
BOOT, ANOTHER_BOOT = "3f8c1f1e-5b0f-4a51-9a3b-0c8f3a7f9d11", "00000000-5b0f-4a51-9a3b-0c8f3a7f9d11"
NO_NUMBERS = ("", "unknown", "EMULATOR36X1X11X0")


def output(number: str, boot: str = BOOT, mount: str = "30") -> str:
    return f"34\nclawperator-phone {number}\nclawperator-boot {boot} {mount}\npackage:a uid:1\n"


def test_the_same_phone_by_each_of_its_serials() -> None:
    serials = (
        "R5CT30ABCDE",
        "adb-R5CT30ABCDE-Fj4kLm._adb-tls-connect._tcp",
        "192.168.1.7:5555",
        "phone.lan:5555",
        "usb:1-4",
    )
    assert len({identity_of(output("R5CT30ABCDE"), serial) for serial in serials}) == 1
    assert (
        identity_of(output("R5CT30ABCDE").replace("\n", "\r\n"), "A") == identity_of(output("R5CT30ABCDE"), "A") != ""
    )


def test_another_number_boot_or_root_mount_is_another_phone() -> None:
    texts = output("A"), output("B"), output("A", ANOTHER_BOOT), output("A", mount="31"), output("")
    assert len({identity_of(text, "192.168.1.7:5555") for text in texts}) == len(texts)


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_without_a_number_an_emulator_is_known_by_its_address(number: str) -> None:
    """Emulators that were started from one snapshot report the same in everything."""
    same = ("emulator-5554", "127.0.0.1:5555", "localhost:5555", "[::1]:5555", "127.0.1.1:5555", "LOCALHOST:5555")
    assert len({identity_of(output(number), serial) for serial in same}) == 1
    others = ("emulator-5554", "emulator-5556", "10.0.0.5:5555", "10.0.0.6:5555", "10.0.0.5:5557")
    assert len({identity_of(output(number), serial) for serial in others}) == len(others)


@table(
    "text",
    [
        "",
        "34\n",
        "clawperator-phone A\n",
        f"clawperator-boot {BOOT} 30\n",
        "clawperator-phone A\nclawperator-boot  30\n",
        "clawperator-phone A\nclawperator-boot\n",
        "clawperator-phone A\nclawperator-boot Permission denied 30\n",
    ],
)
def test_a_phone_that_does_not_report_itself_has_no_identity(text: str) -> None:
    assert identity_of(text, "A") == ""


@given(st.text(), st.text(max_size=40))
def test_any_text_is_read(text: str, serial: str) -> None:
    for answer in (text, output(text), f"clawperator-boot {text}"):
        assert identity_of(answer, serial)[:6] in ("", "phone-")
    assert without_identity(output("A")) == "34\npackage:a uid:1\n"


ROWS = st.lists(
    st.builds(
        DeviceEntry,
        serial=st.sampled_from(["A", "B", "C:1", "D:2", "emulator-5554", "E:3"]),
        state=st.sampled_from(["device", "device", "offline"]),
        product=st.sampled_from(["", "p"]),
        model=st.just("m"),
        device=st.just(""),
        transport_id=st.integers(1, 3),
        usb=st.sampled_from(["", "1-1", "1-2"]),
        features=st.just(""),
        detail=st.just(""),
        shared_serial=st.just(""),
        other_transports=st.just(()),
        preferred=st.just(True),
    ),
    unique_by=lambda row: row.serial,
)
IDENTITIES = st.lists(st.sampled_from(["", "phone-1", "phone-2"]), min_size=6, max_size=6)


@given(ROWS, IDENTITIES, st.lists(st.integers(0, 5), max_size=8))
def test_rows_of_one_phone_name_each_other_and_it_is_used_once(
    rows: list[DeviceEntry], identities: list[str], picks: list[int]
) -> None:
    phones, known = Phones(), {}
    for row, identity in zip(rows, identities, strict=False):
        known[row.serial] = identity if row.usable else ""
        phones.learn(row.serial, row.transport_id, identity)
    marked = {row.serial: row for row in phones.marked(rows)}
    assert list(marked) == [row.serial for row in rows]
    for one, other in combinations(marked.values(), 2):
        same = bool(known[one.serial]) and known[one.serial] == known[other.serial]
        assert (other.serial in one.other_transports) == (one.serial in other.other_transports) == same
        if same:
            assert not (one.preferred and other.preferred)
            best = one if one.preferred else other
            if best.preferred:
                assert rank(best) <= min(rank(one), rank(other))
    chosen = list(dict.fromkeys(rows[pick].serial for pick in picks if pick < len(rows)))
    targets = once_per_phone(chosen, marked.values(), {})
    of_phones = [known[target.serial] or target.serial for target in targets]
    assert len(of_phones) == len(set(of_phones)), "a phone is used once"
    assert set(of_phones) == {known[serial] or serial for serial in chosen}, "and each that was meant is used"
    assert all(target.serial in chosen for target in targets), "by a serial that was meant"


def test_only_rows_that_may_be_one_phone_are_asked() -> None:
    usb, wireless = parse_devices((DATA / "adb-devices-l-one-phone-two-serials.txt").read_text())
    assert suspects([usb, wireless]) == [usb, wireless]
    assert suspects([usb]) == suspects([usb, wireless._replace(model="another")]) == []
    assert suspects([usb, wireless._replace(state="offline")]) == []
    emulators = [DeviceEntry(f"emulator-{port}", "device", "p", "m") for port in (5554, 5556)]
    assert suspects(emulators) == [], "two consoles are two emulators"
    assert suspects([usb, usb._replace(serial="B", usb="1-5")]) == [], "two cables are two phones"


def test_two_phones_with_one_serial_have_names_that_choose_them() -> None:
    rows = parse_devices((DATA / "adb-devices-l-two-phones-one-serial.txt").read_text())
    assert [(row.serial, row.shared_serial) for row in rows] == [
        ("usb:338886656X", "0123456789ABCDEF"),
        ("usb:338886657X", "0123456789ABCDEF"),
    ]
    assert [row.is_named("transport_id:57") for row in rows] == [False, True]
    assert rows[1].to_dict()["sharedSerial"] == "0123456789ABCDEF"
    unnamed = parse_devices(
        "(no serial number)\tdevice usb:1-1 transport_id:4\nA\tdevice transport_id:0\nA\tdevice transport_id:5"
    )
    assert [row.serial for row in unnamed] == ["usb:1-1", "A", "transport_id:5"]


@given(st.lists(st.tuples(st.sampled_from(["A", "B"]), st.sampled_from(["1-1", "1-2", ""])), max_size=6))
def test_every_row_of_a_new_adb_has_a_serial_of_its_own(rows: list[tuple[str, str]]) -> None:
    lines = [
        f"{serial:<22} device{f' usb:{usb}' if usb else ''} model:m transport_id:{number}"
        for number, (serial, usb) in enumerate(rows, 1)
    ]
    found = parse_devices("\n".join(lines))
    assert len({row.serial for row in found}) == len(found) == len(rows)
    for row in found:
        assert [other for other in found if other.is_named(row.serial)] == [row]
        assert [other for other in found if other.is_named(f"transport_id:{row.transport_id}")] == [row]
