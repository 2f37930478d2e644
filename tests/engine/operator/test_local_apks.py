"""Which APK is taken where none is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, RELEASE_PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.apk import ApkFacts
from clawperator.engine.operator.local_apks import ApkProblem, choose_apk, found_apks
from tests.engine.operator.apks import apk, manifest, save

RELEASE, DEBUG = apk(), apk(manifest(DEBUG_PACKAGE, "0.3.1-d"))
FOREIGN = apk(manifest("com.example.game"))


def put(home: Path, name: str, data: bytes, age: int = 0) -> str:
    path = save(home / ".clawperator" / "downloads", data, name)
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def chosen(home: Path, package: str = "") -> str:
    return os.path.basename(choose_apk({"HOME": str(home)}, package).path)


def test_the_order(tmp_path: Path) -> None:
    put(tmp_path, "operator-v0.3.0.apk", RELEASE, age=50)
    put(tmp_path, "newest.APK", RELEASE)
    assert chosen(tmp_path) == "newest.APK"
    put(tmp_path, "operator-debug.apk", DEBUG, age=100)
    assert chosen(tmp_path) == "operator-debug.apk"
    put(tmp_path, "operator.apk", RELEASE, age=200)
    assert chosen(tmp_path) == "operator.apk"
    assert chosen(tmp_path, DEBUG_PACKAGE) == "operator-debug.apk"
    names = [os.path.basename(found.path) for found in found_apks({"HOME": str(tmp_path)})]
    assert names == ["newest.APK", "operator-v0.3.0.apk", "operator-debug.apk", "operator.apk"]


def test_a_chosen_package_wants_its_file(tmp_path: Path) -> None:
    put(tmp_path, "operator.apk", RELEASE)
    with pytest.raises(EngineError, match=f"No APK of {DEBUG_PACKAGE}"):
        chosen(tmp_path, DEBUG_PACKAGE)
    put(tmp_path, "other.apk", DEBUG)
    assert chosen(tmp_path, DEBUG_PACKAGE) == "other.apk"
    assert chosen(tmp_path, RELEASE_PACKAGE) == "operator.apk"


def test_what_cannot_be_installed_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "notes.txt", RELEASE)
    put(tmp_path, ".hidden.apk", RELEASE)
    game, broken = put(tmp_path, "game.apk", FOREIGN, age=1), put(tmp_path, "broken.apk", RELEASE[:-30])
    (tmp_path / ".clawperator" / "downloads" / "folder.apk").mkdir()
    os.mkfifo(tmp_path / ".clawperator" / "downloads" / "pipe.apk")
    found = found_apks({"HOME": str(tmp_path)})
    assert [item.path for item in found] == [broken, game]
    assert all(isinstance(item, ApkProblem) for item in found)
    with pytest.raises(EngineError) as caught:
        choose_apk({"HOME": str(tmp_path)})
    assert caught.value.code is ErrorCode.OPERATOR_APK_NOT_FOUND
    assert [item["path"] for item in caught.value.details["unusable"]] == [broken, game]
    put(tmp_path, "good.apk", RELEASE, age=900)
    assert chosen(tmp_path) == "good.apk"


def test_a_broken_file_of_a_known_name_is_not_passed_over(tmp_path: Path) -> None:
    """A download that broke off must be seen, not replaced by an older one."""
    put(tmp_path, "operator.apk", RELEASE[: len(RELEASE) // 2])
    put(tmp_path, "operator-debug.apk", DEBUG)
    with pytest.raises(EngineError, match="truncated") as caught:
        choose_apk({"HOME": str(tmp_path)})
    assert caught.value.code is ErrorCode.OPERATOR_INSTALL_FAILED


def test_no_folder(tmp_path: Path) -> None:
    assert found_apks({"HOME": str(tmp_path)}) == ()
    (tmp_path / ".clawperator").mkdir()
    (tmp_path / ".clawperator" / "downloads").write_text("a file")
    assert found_apks({"HOME": str(tmp_path)}) == ()
    with pytest.raises(EngineError, match="No Operator APK was found in"):
        choose_apk({"HOME": str(tmp_path)})


def test_facts_are_those_of_the_file(tmp_path: Path) -> None:
    path = put(tmp_path, "operator.apk", RELEASE)
    (found,) = found_apks({"HOME": str(tmp_path)})
    assert found == ApkFacts(path, len(RELEASE), RELEASE_PACKAGE, "0.3.1", 301_900, 21, ())
