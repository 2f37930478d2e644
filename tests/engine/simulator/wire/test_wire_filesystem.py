"""The device's files."""

from __future__ import annotations

import errno
import posixpath
from contextlib import AbstractContextManager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.simulator.filesystem import SHELL_UID, FileSystem


@pytest.fixture
def files() -> FileSystem:
    return FileSystem(clock=lambda: 1_700_000_000.0)


def refused(error: int) -> AbstractContextManager[object]:
    return pytest.raises(OSError, match=rf"\[Errno {error}\]")


def test_write_read_append_and_stat(files: FileSystem) -> None:
    files.write("/data/local/tmp/a", b"one", uid=SHELL_UID)
    files.write("/data/local/tmp/a", b"two", append=True, uid=SHELL_UID)
    assert files.read("/data/local/tmp/a", uid=SHELL_UID) == b"onetwo"
    info = files.stat("/data/local/tmp/a")
    assert (info.size, info.mtime, info.uid, info.is_dir) == (6, 1_700_000_000, SHELL_UID, False)
    assert files.list("/data/local/tmp") == ("a",)


def test_the_shell_user_may_not_write_everywhere(files: FileSystem) -> None:
    with refused(errno.EACCES):
        files.write("/system/bin/x", b"", uid=SHELL_UID)
    with refused(errno.EACCES):
        files.list("/data/data", uid=SHELL_UID)
    files.mkdir("/data/data/pkg", mode=0o700)
    files.write("/data/data/pkg/secret", b"s")
    with refused(errno.EACCES):
        files.read("/data/data/pkg/secret", uid=SHELL_UID)


def test_shared_storage_is_reached_by_its_links_and_keeps_its_group(files: FileSystem) -> None:
    files.write("/sdcard/Download/f", b"x", uid=SHELL_UID)
    assert files.read("/storage/emulated/0/Download/f") == b"x"
    assert files.stat("/sdcard/Download/f").gid == 1015
    assert files.stat("/sdcard", follow=False).is_link
    assert files.readlink("/sdcard") == "/storage/self/primary"


def test_what_is_not_there_or_of_the_wrong_kind(files: FileSystem) -> None:
    with refused(errno.ENOENT):
        files.read("/nope")
    with refused(errno.ENOENT):
        files.write("/nope/deeper", b"")
    with refused(errno.EISDIR):
        files.read("/data")
    with refused(errno.EISDIR):
        files.remove("/data/local")
    files.write("/data/f", b"")
    with refused(errno.ENOTDIR):
        files.list("/data/f")
    with refused(errno.ENOTDIR):
        files.write("/data/f/g", b"")
    with refused(errno.EEXIST):
        files.mkdir("/data/f", parents=True)


def test_a_circle_of_links_ends(files: FileSystem) -> None:
    files.link("/a", "/b")
    files.link("/b", "/a")
    with refused(errno.ELOOP):
        files.read("/a")
    with refused(errno.ELOOP):
        files.write("/a", b"")


def test_space_is_limited_and_given_back(files: FileSystem) -> None:
    small = FileSystem(capacity_bytes=100)
    small.write("/data/a", b"x" * 80)
    with refused(errno.ENOSPC):
        small.write("/data/b", b"x" * 30)
    small.write("/data/a", b"x" * 100)
    small.remove("/data/a")
    small.write("/data/c", b"x" * 100)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.binary(max_size=50), st.sampled_from(["put", "add", "remove"]))))
def test_free_space_is_what_capacity_and_contents_leave(steps: list[tuple[str, bytes, str]]) -> None:
    files = FileSystem(capacity_bytes=100)
    expected: dict[str, bytes] = {}
    for name, data, what in steps:
        path = f"/data/{name}"
        old = expected.get(name, b"")
        new = {"put": data, "add": old + data, "remove": b""}[what]
        others = sum(map(len, expected.values())) - len(old)
        if what == "remove" and name not in expected:
            with refused(errno.ENOENT):
                files.remove(path)
        elif what == "remove":
            files.remove(path)
            del expected[name]
        elif others + len(new) > 100:
            with refused(errno.ENOSPC):
                files.write(path, data, append=what == "add")
            expected.setdefault(name, b"")  # made, then found too large
        else:
            files.write(path, data, append=what == "add")
            expected[name] = new
    assert {posixpath.basename(name): files.read(f"/data/{name}") for name in expected} == expected
