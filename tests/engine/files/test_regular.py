"""The one writer: whole or not at all, private, and never in place of anything but a regular file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from clawperator.engine.errors import NotPrivateError
from clawperator.engine.files.lock import FileLock
from clawperator.engine.files.regular import new_file, private_folder, read_file, read_tail, write_file


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_file_is_private_and_is_not_replaced_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    write_file(str(path), b"one")
    assert (path.read_bytes(), mode_of(path)) == (b"one", 0o600)
    with pytest.raises(FileExistsError):
        write_file(str(path), b"two")
    write_file(str(path), b"three", replace=True)
    assert path.read_bytes() == b"three"
    assert os.listdir(tmp_path) == ["export.jsonl"]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("kind", ["link", "dangling link", "fifo", "folder", "device"])
def test_what_is_no_regular_file_stays(tmp_path: Path, kind: str, replace: bool) -> None:
    precious, path = tmp_path / "precious", tmp_path / "target"
    precious.write_bytes(b"precious")
    match kind:
        case "link":
            path.symlink_to(precious)
        case "dangling link":
            path.symlink_to(tmp_path / "nowhere")
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path = Path(os.devnull)
    before = path.lstat().st_mode
    with pytest.raises((FileExistsError, IsADirectoryError)):
        write_file(str(path), b"attack", replace=replace)
    assert path.lstat().st_mode == before
    assert precious.read_bytes() == b"precious"
    assert not (tmp_path / "nowhere").exists()
    assert not list(tmp_path.glob(".*.part"))


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with new_file(str(path), replace=True) as stream:
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_appears_while_it_is_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def lose() -> None:
        with new_file(str(path)) as stream:
            stream.write(b"ours")
            path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError):
        lose()
    assert path.read_bytes() == b"theirs"


def test_published_files_keep_their_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_file(str(path), b"new", replace=True, mode=None)
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o640)


def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    private_folder(str(folder))
    private_folder(str(folder))
    assert [mode_of(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileExistsError):
        private_folder(str(tmp_path / "file"))


def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        FileLock(str(tmp_path / "lock"))
    assert not (tmp_path / "elsewhere").exists()


def test_reading_is_bounded_and_of_regular_files_only(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_file(str(path), 10) == b"0123456789"
    assert (read_tail(str(path), 3), read_tail(str(path), 100)) == (b"789", b"0123456789")
    with pytest.raises(OSError, match="larger than 9 bytes"):
        read_file(str(path), 9)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path / "pipe", tmp_path, tmp_path / "absent", "a\0b", "\ud800"):
        with pytest.raises(OSError):
            read_file(str(other), 10)


def unsafe(folder: Path, problem: str) -> None:
    if problem == "writable by others":
        folder.chmod(0o777)
    elif problem == "writable by its group":
        folder.chmod(0o775)
    elif os.geteuid() == 0:
        os.chown(folder, 12_345, -1)
    else:
        pytest.skip("only root can give a folder away")


PROBLEMS = ("writable by others", "writable by its group", "another user's")


@pytest.mark.skipif(os.name != "posix", reason="modes")
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_folder_of_others_is_refused(tmp_path: Path, problem: str) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    private_folder(str(folder))
    unsafe(folder, problem)
    with pytest.raises(NotPrivateError):
        private_folder(str(folder))
    ours = tmp_path / ".clawperator"
    (ours / "locks").mkdir(parents=True)
    unsafe(ours, problem)
    with pytest.raises(NotPrivateError):
        private_folder(str(ours / "locks"))


def test_a_folder_that_root_shares_will_do() -> None:
    if os.stat("/tmp").st_mode & stat.S_ISVTX and os.stat("/tmp").st_uid == 0:
        private_folder("/tmp")
