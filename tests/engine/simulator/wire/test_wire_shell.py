"""The device's shell: quoting, expansion, streams, exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.adb.quote import device_command
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.services import TOOLBOX
from clawperator.engine.simulator.shell import Shell
from clawperator.engine.simulator.shell_syntax import ShellSyntaxError, parse
from clawperator.engine.simulator.streams import Collector, InputStream, Null, Streams, input_of, no_input
from tests.support import examples, patience

from .conftest import Ran, Runner, make_device

Sh = Callable[..., Awaitable[Ran]]


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("echo hi", "hi\n"),
        ("echo  a   b", "a b\n"),
        ("echo 'a  b' \"c  d\" e\\ \\ f", "a  b c  d e  f\n"),
        ("""echo 'it'"'"'s'""", "it's\n"),
        ("echo 'single $T `x`' \"$((1+2))\"", "single $T `x` 3\n"),
        ('echo "\\$ \\` \\" \\\\ \\n"', '$ ` " \\ \\n\n'),
        ("T=5; echo $T ${T} \"$T\" '$T' ${T}x$Tx", "5 5 5 $T 5x\n"),
        ("A=; echo ${A:-d} ${A-e} ${B-f}", "d f\n"),
        ("F=/a/b.txt; echo ${F##*/} ${F%.txt} ${F#/} ${F%%/*}", "b.txt /a/b a/b.txt\n"),
        ("A='x  y'; echo $A; echo \"$A\"", "x y\nx  y\n"),
        ('echo "$(echo one; echo two)" $(echo a b)', "one\ntwo a b\n"),
        ("echo $(echo $(echo deeper))", "deeper\n"),
        ("false; echo $?; true; echo $?", "1\n0\n"),
        ("false && echo no || echo yes; ! false && echo also", "yes\nalso\n"),
        ("if false; then echo a; elif true; then echo b; else echo c; fi", "b\n"),
        ("for i in 1 2 3; do [ $i = 2 ] && break; echo $i; done", "1\n"),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; echo $i", "3\n"),
        ("until true; do echo never; done; echo done", "done\n"),
        ("{ echo a; echo b; } | cat; (cd /data; echo $PWD); echo $PWD", "a\nb\n/data\n/\n"),
        ("printf 'b\\na\\nc\\n' | grep -v b | grep -m 1 .", "a\n"),
        (
            "x=*; echo '*' \"*\" \\*; cd /sdcard; echo *; echo $x; echo n*pe D*",
            "* * *\nAndroid Download Pictures\nAndroid Download Pictures\nn*pe Download\n",
        ),
        ("echo a#b # comment\necho c", "a#b\nc\n"),
        ("echo a \\\nb", "a b\n"),
        ('read a b; echo "$b/$a"', "two three/one\n"),
        ("/system/bin/echo full path", "full path\n"),
        ("sh -c 'echo $0 $1' name arg; sh -c 'exit 3'; echo $?", "name arg\n3\n"),
        ("exec echo last; echo never", "last\n"),
        ("echo before; exit 0; echo never", "before\n"),
        ("nosuch 2>/dev/null; echo $?", "127\n"),
        ("printf '%s-%d\\n' a 1 b 2", "a-1\nb-2\n"),
    ],
)
async def test_scripts(sh: Sh, script: str, out: str) -> None:
    assert await sh(script, b"one two three\n") == Ran((await sh(script, b"one two three\n")).status, out, "")


@pytest.mark.parametrize(
    ("script", "status", "err"),
    [
        ("foo", 127, "/system/bin/sh: foo: inaccessible or not found\n"),
        ("./run", 127, "/system/bin/sh: ./run: inaccessible or not found\n"),
        ("exit 7", 7, ""),
        ("exit 300", 44, ""),
        ("(exit 4)", 4, ""),
        ("false", 1, ""),
        ("echo 'open", 1, "/system/bin/sh: no closing quote\n"),
        ("cat <<E\nline\nE", 1, "/system/bin/sh: syntax error: unexpected '<'\n"),
        ("case a in a) echo a;; esac", 1, "/system/bin/sh: syntax error: unexpected 'case'\n"),
        ("echo )", 1, "/system/bin/sh: syntax error: unexpected ')'\n"),
        ("if true; then", 1, "/system/bin/sh: syntax error: unexpected end of file\n"),
        ("echo x > /system/x", 1, "/system/bin/sh: can't create /system/x: Permission denied\n"),
        ("cat < /nope", 1, "/system/bin/sh: can't open /nope: No such file or directory\n"),
        ("cat /nope", 1, "cat: /nope: No such file or directory\n"),
        ("ls -Z", 1, "ls: Unknown option 'Z' (see \"ls --help\")\n"),
        ("echo to stderr >&2", 0, "to stderr\n"),
    ],
)
async def test_failures_are_reported_on_stderr_with_an_exit_code(sh: Sh, script: str, status: int, err: str) -> None:
    assert await sh(script) == Ran(status, "", err)


async def test_older_devices_word_an_unknown_command_differently() -> None:
    device = make_device(sdk=28)
    assert (await Runner(device)("foo")).err == "/system/bin/sh: foo: not found\n"


async def test_redirections_reach_files(sh: Sh, device: SimulatedDevice) -> None:
    await sh(
        "d=/data/local/tmp; echo one > $d/f; echo two >> $d/f; nosuch 2>> $d/f; { echo both; nosuch; } > $d/g 2>&1; echo x > $d/h"
    )
    assert device.files.read("/data/local/tmp/f") == b"one\ntwo\n/system/bin/sh: nosuch: inaccessible or not found\n"
    assert device.files.read("/data/local/tmp/g") == b"both\n/system/bin/sh: nosuch: inaccessible or not found\n"
    assert device.files.read("/data/local/tmp/h") == b"x\n"
    assert (await sh("cat < /data/local/tmp/h; wc -l < /data/local/tmp/g")).out == "x\n2\n"


async def test_redirecting_order_matters(sh: Sh) -> None:
    assert await sh("{ echo out; echo err >&2; } 2>&1 >/dev/null") == Ran(0, "err\n", "")


async def test_a_failed_redirection_is_the_failure_of_its_command_only(sh: Sh) -> None:
    ran = await sh("echo x > /system/x; echo $?; { echo y; } < /nope || echo next; echo z >&7; echo $?")
    assert ran.out == "1\nnext\n1\n"
    assert ran.err.splitlines()[2] == "/system/bin/sh: 7: bad file descriptor"


async def test_the_clock_and_logcat_agree(sh: Sh) -> None:
    """android-facts 2g: a nonce written after the clock was read is later than the clock."""
    ran = await sh('T=$EPOCHREALTIME; log -t NONCE "n-1"; exec logcat -d -b main -v raw -T $T')
    assert ran.out.endswith("n-1\n")
    assert (await sh("echo $EPOCHREALTIME")).out.strip().replace(".", "").isdigit()


async def test_an_argument_larger_than_linux_allows_is_refused_for_programs_only(
    sh: Sh, device: SimulatedDevice
) -> None:
    device.files.write("/data/local/tmp/big", b"x" * 140_000)
    ran = await sh('ls "$(cat /data/local/tmp/big)"')
    assert (ran.status, ran.err) == (126, "/system/bin/sh: ls: Argument list too long\n")
    assert (await sh('B="$(cat /data/local/tmp/big)"; for x in $B; do echo one; done')).out == "one\n"


async def test_a_script_on_standard_input_runs_line_by_line_and_shares_it(sh: Sh) -> None:
    script = b"echo first\nread line\nthis is read\nif true; then\necho $line\nfi\nexit 5\necho never\n"
    assert await sh("sh", script) == Ran(5, "first\nthis is read\n", "")
    assert (await sh("sh", b"echo 'unfinished\n")).err == "/system/bin/sh: no closing quote\n"


async def test_an_endless_reader_ends_with_its_writer_and_an_endless_writer_with_its_reader(sh: Sh) -> None:
    assert (await sh("echo x | cat")).out == "x\n"
    assert (await sh("while true; do echo y; done | grep -m 2 y")).out == "y\ny\n"


async def test_cancelling_a_shell_ends_every_stage_of_its_pipeline(device: SimulatedDevice) -> None:
    arrived = asyncio.Event()

    class Screen:
        async def write(self, data: bytes) -> None:
            if b"marker" in data:
                arrived.set()

    shell = Shell(device, Streams(no_input(), Screen(), Null()), TOOLBOX)
    before = asyncio.all_tasks()
    running = asyncio.create_task(shell.run("logcat -v raw | grep --  marker"))
    await asyncio.sleep(0)
    device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="marker")
    async with asyncio.timeout(patience(5)):
        await arrived.wait()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == before


async def test_recursion_ends(sh: Sh, device: SimulatedDevice) -> None:
    device.files.write("/data/local/tmp/r.sh", b"sh /data/local/tmp/r.sh\n")
    assert "recursion too deep" in (await sh("sh /data/local/tmp/r.sh")).err
    assert "nested too deeply" in (await sh("(" * 100)).err


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=4
    )
)
async def test_every_argument_that_was_quoted_arrives_unchanged(words: list[str]) -> None:
    ran = await Runner(make_device())(device_command(["printf", "%s\\n", *words]))
    assert (ran.status, ran.out, ran.err) == (0, "".join(f"{word}\n" for word in words), "")
    assert (await Runner(make_device())(shlex.join(["printf", "%s\\n", *words]))).out == ran.out


SHELLISH = st.lists(
    st.sampled_from(
        [
            *"abX1 '\"\\$`(){}[]<>|&;!#*?=~%:-+/\n\t.@",
            "if ",
            "then ",
            "fi ",
            "for ",
            "in ",
            "do ",
            "done ",
        ]
    ),
    max_size=60,
).map("".join)


@settings(max_examples=examples(300))
@given(SHELLISH)
def test_any_text_is_a_script_or_a_syntax_error(text: str) -> None:
    with contextlib.suppress(ShellSyntaxError):
        parse(text)


@settings(max_examples=examples(150), deadline=None)
@given(SHELLISH, st.binary(max_size=40))
async def test_any_script_ends_with_an_exit_code(text: str, stdin: bytes) -> None:
    device = make_device()
    out, err = Collector(), Collector()
    shell = Shell(device, Streams(input_of(stdin), out, err), TOOLBOX)
    with contextlib.suppress(TimeoutError):  # it may well have written an endless loop
        async with asyncio.timeout(0.5):
            assert 0 <= await shell.run(text) <= 255
    await device.close()


@given(st.binary(max_size=200))
async def test_any_bytes_on_standard_input_are_survived(data: bytes) -> None:
    device = make_device()
    shell = Shell(device, Streams(InputStream(input_of(data).read), Null(), Null()), TOOLBOX)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            assert 0 <= await shell.run_input() <= 255
    await device.close()
