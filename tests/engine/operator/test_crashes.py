"""Crashes out of the device's texts: whose they are, what they were, and only the Operator's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.operator_identity import RELEASE_PACKAGE
from clawperator.engine.operator.crash_parser import from_dropbox, from_log, merged, of_packages
from tests.engine.operator.conftest import MakePhone

OTHER = "com.example.game"


def logged(package: str, pid: int, second: int, *, words: str = "boom", year: str = "2026-") -> str:
    stamp = f"{year}03-02 10:58:{second:02d}.100 {pid:5d} {pid + 7:5d} E AndroidRuntime: "
    lines = ("FATAL EXCEPTION: main", f"Process: {package}, PID: {pid}", f"java.lang.IllegalStateException: {words}")
    return "".join(f"{stamp}{line}\n" for line in (*lines, "\tat a.B.c(B.kt:12)", "\tat a.B.d(B.kt:7)"))


def dropped(package: str, second: int, *, words: str = "boom") -> str:
    return (
        f"\n========================================\n2026-03-02 10:58:{second:02d} data_app_crash (text, 100 bytes)\n"
        f"Process: {package}\nFlags: 0x1\nPackage: {package} v301900 (0.3.1)\nForeground: Yes\n\n"
        f"java.lang.IllegalStateException: {words}\n\tat a.B.c(B.kt:12)\n"
    )


def test_interleaved_crashes_of_two_processes() -> None:
    ours, theirs = logged(RELEASE_PACKAGE, 900, 5).splitlines(), logged(OTHER, 950, 5).splitlines()
    text = "--------- beginning of crash\n" + "".join(f"{a}\n{b}\n" for a, b in zip(ours, theirs, strict=True))
    reports = from_log(text.encode())
    assert [report.process for report in reports] == [RELEASE_PACKAGE, OTHER]
    (found,) = of_packages(reports, [RELEASE_PACKAGE])
    assert (found.pid, found.kind, found.at) == (900, "java", "2026-03-02 10:58:05.100")
    assert found.summary == "java.lang.IllegalStateException: boom"
    assert found.lines[-1] == "\tat a.B.d(B.kt:7)"
    assert len(found.lines) == 5


def test_only_the_very_package_and_its_own_processes() -> None:
    names = [f"{RELEASE_PACKAGE}:remote", f"{RELEASE_PACKAGE}2", f"{RELEASE_PACKAGE}.dev", f"x.{RELEASE_PACKAGE}"]
    reports = from_log("".join(logged(name, 900 + at, at) for at, name in enumerate(names)).encode())
    assert [report.process for report in of_packages(reports, [RELEASE_PACKAGE])] == [names[0]]


def test_the_drop_box_adds_what_the_log_has_lost() -> None:
    reports = from_log(logged(RELEASE_PACKAGE, 900, 5).encode())
    drops = from_dropbox("Drop box contents: 2 entries\n" + dropped(RELEASE_PACKAGE, 2) + dropped(RELEASE_PACKAGE, 7))
    found = merged(reports, drops, 2026)
    assert [(report.at, report.source) for report in found] == [
        ("2026-03-02 10:58:05.100", "crash-buffer"),
    ]
    older = from_dropbox(dropped(RELEASE_PACKAGE, 40) + dropped(OTHER, 5))
    found = merged(reports, older, 2026)
    assert [report.at[17:19] for report in of_packages(found, [RELEASE_PACKAGE])] == ["40", "05"]
    assert found[0].summary == "java.lang.IllegalStateException: boom"


def test_a_log_without_years_takes_the_devices() -> None:
    reports = from_log(logged(RELEASE_PACKAGE, 900, 5, year="").encode())
    assert [report.at for report in reports] == ["03-02 10:58:05.100"]
    assert merged(reports, from_dropbox(dropped(RELEASE_PACKAGE, 6)), 2026) == reports
    assert len(merged(reports, from_dropbox(dropped(RELEASE_PACKAGE, 6)), 2025)) == 2


def test_captured_crashes(corpus: Path) -> None:
    native = from_log((corpus / "logcat" / "native-and-java-crash-buffer-threadtime-year.txt").read_bytes())
    assert (native[0].process, native[0].pid, native[0].kind) == ("com.google.android.bluetooth", 1300, "native")
    assert native[0].summary.startswith("signal 6 (SIGABRT), code -1 (SI_QUEUE), fault addr --------; Abort message: ")
    (markor,) = from_log((corpus / "logcat" / "crash-markor-1329-threadtime.txt").read_bytes())
    assert (markor.process, markor.pid) == ("net.gsantner.markor", 2957)
    assert markor.summary.startswith("java.lang.NoClassDefFoundError: Failed resolution of")
    tombstone = (corpus / "device" / "tombstone-native-crash.txt").read_text()
    (drop,) = from_dropbox(
        f"{'=' * 40}\n2021-09-29 17:43:50 data_app_native_crash (compressed text, 9 bytes)\n{tombstone}"
    )
    assert (drop.process, drop.pid, drop.kind) == ("/system/bin/adbd", 9850, "native")
    assert "Check failed: payload.size()" in drop.summary


@given(
    st.lists(st.one_of(st.text(max_size=80), st.sampled_from(logged(RELEASE_PACKAGE, 1, 1).splitlines())), max_size=20)
)
def test_any_text_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    reports = [*from_log(text.encode("utf-8", "replace")), *from_dropbox(text), *from_dropbox(dropped(text, 1) + text)]
    assert len(merged(reports, reports, 1)) <= 2 * len(reports)
    assert all(report.process for report in reports)


# -- on a device


async def test_no_crash_is_an_empty_list(phone: MakePhone) -> None:
    found = (await (await phone()).app.crash_log()).to_dict()
    assert (found["crashes"], found["count"]) == ([], 0)
    assert found["message"].startswith("The device has recorded no crash of com.clawperator.operator or ")
    assert "trouble" not in found


@pytest.mark.parametrize("sdk", [23, 30, 34])
async def test_crashes_of_the_operator(phone: MakePhone, sdk: int) -> None:
    """The log and the drop box both have it; one of them may have lost it."""
    there = await phone(device={"sdk": sdk})
    operator = there.world.operator
    assert operator is not None
    operator.die("first")
    found = await there.app.crash_log()
    (crash,) = found.crashes
    assert (crash.process, crash.source) == (RELEASE_PACKAGE, "crash-buffer")
    assert "first" in crash.summary
    there.world.log.clear(["crash"])
    (kept,) = (await there.app.crash_log()).crashes
    assert (kept.source, kept.pid, kept.summary) == ("dropbox", crash.pid, crash.summary)
    another = await there.engine.operator_app(receiver_package="com.example.other").crash_log()
    assert another.crashes == ()


async def test_the_limit_of_lines(phone: MakePhone) -> None:
    there = await phone()
    there.world.dropbox.add(
        1_000_000_000, "data_app_crash", f"Process: {RELEASE_PACKAGE}\n\nOld: x\n" + "\tat a.b\n" * 9
    )
    there.world.dropbox.add(
        1_000_001_000, "data_app_crash", f"Process: {RELEASE_PACKAGE}\n\nNew: x\n" + "\tat a.b\n" * 9
    )
    found = await there.app.crash_log(lines=5)
    (crash,) = found.crashes
    assert crash.summary == "New: x"
    assert (len(crash.lines), crash.cut, found.left_out) == (5, 7, 1)
    assert [crash.cut for crash in (await there.app.crash_log(lines=15)).crashes] == [0, 9]
