"""Finding and reading a registry: whose file counts, what is refused and with which words, and no path that leaves the root."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills import registry as module
from clawperator.engine.skills.registry import (
    BUILTIN,
    Registry,
    find_registry,
    leaves,
    load_registry,
    nearest,
    open_registry,
)
from tests.engine.skills.made import made_registry

VARIABLE = "CLAWPERATOR_SKILLS_REGISTRY"


def a_file(path: Path, *skills: Any, text: str | None = None) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"skills": skills}) if text is None else text, encoding="utf-8", errors="surrogatepass")
    return str(path)


def entry(skill_id: str, **other: Any) -> dict[str, Any]:
    """An entry that the loader keeps, unless ``other`` changes that."""
    folder = f"skills/{skill_id}"
    made = {"id": skill_id, "applicationId": "a", "intent": "b", "summary": "c", "path": folder}
    return {**made, "skillFile": f"{folder}/SKILL.md", "scripts": [f"{folder}/scripts/x.js"], "artifacts": [], **other}


def refusal(path: str, source: str = "flag") -> EngineError:
    with pytest.raises(EngineError) as caught:
        load_registry(path, source)
    assert caught.value.code is ErrorCode.REGISTRY_READ_FAILED
    return caught.value


# -- finding


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """Registries in every place that is searched, and in two folders above, which are not; the process is in ``repo/a/b``."""
    here = tmp_path / "repo" / "a" / "b"
    return {
        "flag": a_file(tmp_path / "named.json"),
        "env": a_file(tmp_path / "chosen.json"),
        "cwd": a_file(here / "skills" / "skills-registry.json"),
        "parent": a_file(tmp_path / "repo" / "a" / "skills" / "skills-registry.json"),
        "above": a_file(tmp_path / "repo" / "skills" / "skills-registry.json"),
        "installed": a_file(tmp_path / ".clawperator" / "skills" / "skills" / "skills-registry.json"),
        "here": str(here),
        "home": str(tmp_path),
    }


def test_the_first_place_that_has_one_counts(places: dict[str, str]) -> None:
    env = {"HOME": places["home"], VARIABLE: places["env"]}
    assert find_registry(env, explicit=places["flag"], cwd=places["here"]) == (places["flag"], "flag")
    assert find_registry(env, cwd=places["here"]) == (places["env"], "env")
    del env[VARIABLE]
    assert find_registry(env, cwd=places["here"]) == (places["cwd"], "cwd")
    os.unlink(places["cwd"])
    assert find_registry(env, cwd=places["here"]) == (places["installed"], "installed")


def test_what_is_named_is_taken_from_where_one_stands_and_from_home(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert find_registry(env, explicit="../r.json", cwd=str(tmp_path / "x"))[0] == str(tmp_path / "r.json")
    assert find_registry({**env, VARIABLE: "~/r.json"}, cwd="/")[0] == str(tmp_path / "r.json")


@pytest.mark.parametrize("explicit", [BUILTIN, None])
def test_the_skills_that_come_along_have_a_name(explicit: str | None, tmp_path: Path) -> None:
    found = open_registry({VARIABLE: BUILTIN, "HOME": str(tmp_path)}, explicit)
    assert found.source == BUILTIN
    assert len(found.skills) >= 5
    assert load_registry(BUILTIN) == found


def test_an_empty_variable_names_nothing(places: dict[str, str]) -> None:
    assert find_registry({"HOME": places["home"], VARIABLE: ""}, explicit="", cwd=places["here"])[1] == "cwd"


def test_from_a_folder_that_was_removed(
    places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_registry({"HOME": places["home"]}) == (places["installed"], "installed")


def test_no_registry_at_all(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        find_registry({"HOME": str(tmp_path)}, cwd=str(tmp_path / "a" / "b"))
    error = caught.value
    assert error.code is ErrorCode.REGISTRY_READ_FAILED
    assert len(error.details["checked"]) == 2
    assert all(path in error.message for path in error.details["checked"])
    assert "skills install" in error.hint
    assert "--registry builtin" in error.hint


def test_what_the_environment_names_has_no_fallback(places: dict[str, str]) -> None:
    missing = places["env"] + ".gone"
    with pytest.raises(EngineError) as caught:
        open_registry({"HOME": places["home"], VARIABLE: missing})
    assert missing in caught.value.message
    assert VARIABLE in caught.value.message
    assert caught.value.details["variable"] == VARIABLE


# -- reading


def test_entries_keep_their_order_and_what_no_one_knows(tmp_path: Path) -> None:
    entries = [entry("b", colour={"deep": [1]}), entry("a"), entry("b")]
    found = load_registry(a_file(tmp_path / "root" / "skills" / "skills-registry.json", *entries))
    assert list(found.skills) == entries
    assert found.root == str(tmp_path / "root")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1, column 1"),
        ('{"skills": [\n  {"id": }]}', "line 2, column 10"),
        ("[]", "array `skills`"),
        ('{"skills": {}}', "array `skills`"),
        ('{"skills": [], "x": NaN}', "NaN is not a JSON value"),
        ("[" * 100_000, "nested too deeply"),
        (f'{{"skills": [{"9" * 5_000}]}}', "digits"),
        ("\udcff", "not UTF-8 at byte 0"),
    ],
    ids=["empty", "syntax", "list", "object", "nan", "deep", "long number", "bytes"],
)
def test_what_is_no_registry(tmp_path: Path, text: str, reason: str) -> None:
    path = a_file(tmp_path / "r.json", text=text)
    error = refusal(path)
    assert reason in error.message
    assert path in error.message
    assert error.details["path"] == path


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    assert load_registry(a_file(tmp_path / "r.json", text='\ufeff{"skills": []}')).skills == ()


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(str(pipe)).message  # and it does not wait for a writer
    assert "Is a directory" in refusal(str(tmp_path)).message
    assert "No such file" in refusal(str(tmp_path / "none")).message
    assert refusal("a\0b").details["reason"]
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    assert "larger than 10 bytes" in refusal(a_file(tmp_path / "r.json")).message


# -- paths


@pytest.mark.parametrize("key", ["path", "skillFile", "scripts", "artifacts"])
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "skills/a/../../../x", "..", "skills/\0"])
def test_no_path_of_an_entry_leaves_the_root(tmp_path: Path, key: str, path: str) -> None:
    bad = [path] if key in ("scripts", "artifacts") else path
    found = load_registry(a_file(tmp_path / "r.json", entry("good"), entry("evil", **{key: bad}), entry("other")))
    assert [skill["id"] for skill in found.skills] == ["good", "other"]
    (warning,) = found.warnings
    assert (warning["code"], warning["path"]) == ("REGISTRY_ENTRY_INVALID", "$.skills[1]")
    assert "evil" in warning["message"]
    assert "is outside of the registry's folder" in warning["message"]


def test_bad_entries_are_left_out_and_the_others_work(tmp_path: Path) -> None:
    bad: list[Any] = [
        None,
        "a.b",
        7,
        [],
        {},
        {"id": "a.b"},
        entry(""),
        entry("c.d", summary=None),
        entry("e.f", path=["../x"]),
    ]
    found = load_registry(a_file(tmp_path / "r.json", *bad[:5], entry("good.one"), *bad[5:], entry("good.two")))
    assert [skill["id"] for skill in found.skills] == ["good.one", "good.two"]
    assert [warning["path"] for warning in found.warnings] == [f"$.skills[{at}]" for at in (0, 1, 2, 3, 4, 6, 7, 8, 9)]
    assert [found.position(index) for index in (0, 1)] == [5, 10]
    assert "applicationId, intent" in found.warnings[5]["message"]
    with pytest.raises(EngineError) as caught:
        found.get("c.d")
    assert caught.value.code is ErrorCode.SKILL_NOT_FOUND
    assert caught.value.hint == "Correct its entry in the registry: summary must be text."


def test_what_only_looks_like_a_way_out_is_none(tmp_path: Path) -> None:
    odd = entry("a..b", scripts=["skills/a..b/x/../y.sh"], summary="../.. and /etc")
    assert load_registry(a_file(tmp_path / "r.json", odd)).skills == (odd,)


def test_an_odd_form_is_not_the_loaders_business(tmp_path: Path) -> None:
    odd = entry("a.b", scripts="../x", artifacts=[7, None, {"a": "../x"}])
    assert load_registry(a_file(tmp_path / "r.json", odd)).skills == (odd,)


@given(st.lists(st.sampled_from(["..", ".", "a", "skills", ""]), min_size=1, max_size=8))
def test_leaving_is_what_the_file_system_says(parts: list[str]) -> None:
    path = "/".join(parts)
    real = os.path.normpath(os.path.join("/root/of/it", path)) if path else "/root/of/it"
    assert leaves(path) is not (real == "/root/of/it" or real.startswith("/root/of/it/"))


def test_a_place_is_inside_links_included(tmp_path: Path) -> None:
    registry = made_registry(tmp_path / "real", {"a.b": {"run.sh": "#!/bin/sh\n"}})
    outside = tmp_path / "outside.sh"
    outside.write_text("")
    scripts = Path(registry.root) / "skills" / "a.b" / "scripts"
    (scripts / "out.sh").symlink_to(outside)
    (scripts / "loop.sh").symlink_to("loop.sh")
    (scripts / "in.sh").symlink_to("run.sh")
    (tmp_path / "real" / "skills" / "away").symlink_to(tmp_path)
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    for known in (registry, load_registry(str(tmp_path / "alias" / "skills" / "skills-registry.json"))):
        assert known.place("a.b", "skills/a.b/scripts/run.sh") == str(scripts / "run.sh")
        assert known.place("a.b", "skills/a.b/scripts/in.sh") == str(scripts / "run.sh")
        for way_out in (
            "skills/a.b/scripts/out.sh",
            "skills/away/outside.sh",
            "../outside.sh",
            str(outside),
            "a\0b",
            "\ud800",
        ):
            with pytest.raises(EngineError) as caught:
                known.place("a.b", way_out)
            assert caught.value.code is ErrorCode.REGISTRY_READ_FAILED
            assert caught.value.details["skillId"] == "a.b"


def test_a_neighbour_with_a_longer_name_is_not_inside(tmp_path: Path) -> None:
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "x").symlink_to(tmp_path / "root-2")
    with pytest.raises(EngineError):
        Registry("", str(tmp_path / "root"), (), "flag").place("a.b", "x")


# -- names


def of_ids(*ids: object) -> Registry:
    return Registry("/r.json", "/", tuple({"id": each} for each in ids), "flag")


def test_the_exact_id_and_the_first_of_twins() -> None:
    registry = of_ids("com.a.x", "com.a.X", "com.a.x")
    assert registry.get("com.a.x") is registry.skills[0]


def test_an_unknown_id_names_its_neighbours() -> None:
    registry = of_ids("com.example.shop.search", "com.example.shop.cart", "org.other.thing", 7, None)
    with pytest.raises(EngineError) as caught:
        registry.get("com.example.shop.serach")
    assert caught.value.code is ErrorCode.SKILL_NOT_FOUND
    assert caught.value.message == "Skill not found: com.example.shop.serach"
    assert caught.value.details["skillId"] == "com.example.shop.serach"
    assert caught.value.hint == "Did you mean com.example.shop.search?"


def test_an_id_that_is_like_none_is_reported_to_search() -> None:
    with pytest.raises(EngineError, match="Skill not found") as caught:
        of_ids("com.example.shop.search").get("zzz\ud800" * 100_000)
    assert caught.value.hint == ErrorCode.SKILL_NOT_FOUND.hint
    assert len(caught.value.message) < 300
    caught.value.message.encode()


def test_a_part_of_an_id_is_enough_to_be_near() -> None:
    skills = [{"id": f"com.example.app{number}.weather-today"} for number in range(9)] + [{"id": "com.w.weather"}]
    assert nearest("WEATHER", skills)[0] == "com.w.weather"
    assert len(nearest("weather", skills)) == 3


@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=5))
def test_any_text_may_be_an_id(asked: str, ids: list[str]) -> None:
    near = nearest(asked, [{"id": each} for each in ids])
    assert set(near) <= set(ids)
    assert all(len(text) <= 200 for text in near)
