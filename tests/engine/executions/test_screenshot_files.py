"""Files of screenshots: which are replaced, and where those without a chosen path go."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from clawperator.engine.errors import EngineError, NotPrivateError
from clawperator.engine.executions import screenshot
from clawperator.engine.executions.screenshot import is_png, target_problem, temporary_path

PNG = b"\x89PNG\r\n\x1a\nrest"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"clawperator-{os.getuid()}"


def problem(path: Path, *, overwrite: bool = False) -> str:
    found = target_problem(str(path), overwrite=overwrite)
    assert found is None or isinstance(found, EngineError)
    return "" if found is None else found.code.value


def test_only_a_regular_png_is_replaced_without_being_told_to(tmp_path: Path) -> None:
    for name, content in (("mine.png", b"mine"), ("empty.png", b""), ("almost.png", PNG[:7])):
        (tmp_path / name).write_bytes(content)
        assert problem(tmp_path / name) == "FILE_EXISTS"
        assert problem(tmp_path / name, overwrite=True) == ""
    (tmp_path / "shot.txt").write_bytes(PNG)
    assert problem(tmp_path / "shot.txt") == ""
    (tmp_path / "link.png").symlink_to(tmp_path / "shot.txt")
    os.mkfifo(tmp_path / "fifo.png")
    (tmp_path / "folder.png").mkdir()
    for name in ("link.png", "fifo.png", "folder.png"):
        assert not is_png(str(tmp_path / name))
        assert problem(tmp_path / name) != ""
        assert problem(tmp_path / name, overwrite=True) != ""
    assert problem(tmp_path / "new.png") == ""


def test_a_screenshot_without_a_path_is_private(temporary: Path) -> None:
    path = Path(temporary_path("a-1"))
    assert (path.parent, path.name) == (temporary, "clawperator-screenshot-a-1.png")
    assert temporary.stat().st_mode & 0o777 == 0o700
    temporary.chmod(0o755)
    temporary_path("a-2")
    assert temporary.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_prepared_is_refused(temporary: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    temporary.symlink_to(elsewhere)
    with pytest.raises(NotPrivateError, match="not a folder of its own"):
        temporary_path("a")
    temporary.unlink()
    temporary.mkdir()
    temporary.chmod(0o777)
    with pytest.raises(NotPrivateError, match="others can write to it"):
        temporary_path("a")
    assert list(elsewhere.iterdir()) == []


def test_the_newest_of_a_day_are_kept(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screenshot, "_MOST_KEPT", 3)
    now = time.time()
    folder = Path(temporary_path("x")).parent
    (folder / "locks").write_text("not ours to delete")
    (folder / "clawperator-screenshot-link.png").symlink_to(folder / "locks")
    for index in range(5):
        path = temporary_path(f"{index}")
        screenshot._write(path, PNG, overwrite=False)
        os.utime(path, (now - 100 + index, now - 100 + index))
    old = Path(temporary_path("old"))
    old.write_bytes(PNG)
    os.utime(old, (now - 90_000, now - 90_000))
    screenshot._write(temporary_path("last"), PNG, overwrite=False)
    left = {path.stem.removeprefix("clawperator-screenshot-") for path in folder.glob("*.png")}
    assert left == {"last", "4", "3", "link"}
    assert (folder / "locks").exists()


def test_chosen_files_are_nobody_elses_to_delete(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(screenshot, "_MOST_KEPT", 1)
    for index in range(3):
        screenshot._write(str(tmp_path / f"clawperator-screenshot-{index}.png"), PNG, overwrite=False)
    assert len(list(tmp_path.glob("*.png"))) == 3
    assert not temporary.exists()
