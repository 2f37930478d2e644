"""Launcher entries as package managers print them, and the app that a name means."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.apps import LaunchableApp, app_called, parse_apps, search
from clawperator.engine.executions.opening import is_app_name
from tests.support import table

_FILTER = "    priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=false\n"


def _label(indent: int, resource: str, text: str) -> str:
    return (
        f"{' ' * indent}labelRes=0x{resource} nonLocalizedLabel={text} icon=0x7f0d0000 banner=0x0\n" if resource else ""
    )


def entry(
    number: int,
    package: str,
    *,
    own: tuple[str, str] = ("", ""),
    activity: tuple[str, str] = ("", ""),
    application: tuple[str, str] = ("", ""),
    name: str = "",
) -> str:
    """One ``ResolveInfo.dump``: a level without its resource number has no line about the label, as in Android."""
    return (
        f"  Activity #{number}:\n{_FILTER}{_label(4, *own)}    ActivityInfo:\n      name={name or package + '.Main'}\n"
        f"      packageName={package}\n{_label(6, *activity)}      permission=null\n      taskAffinity={package}\n"
        "      launchMode=2 flags=0x2000 privateFlags=0x0 theme=0x0\n      enabled=true exported=true\n"
        f"      ApplicationInfo:\n        name={package}.App\n        packageName={package}\n{_label(8, *application)}"
        f"        className={package}.App\n        processName={package}\n        flags=0x3848be45\n"
    )


DUMP = "5 activities found:\n" + "".join(
    (
        entry(0, "com.android.settings", activity=("7f1216a5", "null"), application=("7f1216a5", "null")),
        entry(1, "com.example.notes", application=("0", "Field Notes")),
        entry(2, "com.example.mail", activity=("0", "Mail"), application=("0", "Suite")),
        entry(3, "com.example.mail", activity=("0", "Calendar"), name="com.example.mail.Days"),
        entry(4, "com.example.twofold", own=("0", "From the filter"), activity=("7f01", "null")),
    )
)


def test_labels_are_those_that_the_device_states() -> None:
    television = "1 activities found:\n" + entry(
        0, "com.example.tv.android", activity=("0", "null"), application=("0", "null")
    )
    found = parse_apps(DUMP + television)
    assert [(app.application_id, app.label, app.derived_name) for app in found] == [
        ("com.android.settings", None, "Settings"),
        ("com.example.notes", "Field Notes", "Notes"),
        ("com.example.mail", "Mail", "Mail"),
        ("com.example.twofold", "From the filter", "Twofold"),
        ("com.example.tv.android", None, "Tv"),
    ]
    assert found[2].activity == "com.example.mail.Main", "the entry that `open_app` starts is the first one"


def test_a_label_of_the_activity_in_its_resources_hides_that_of_the_application() -> None:
    text = entry(0, "com.example.a", activity=("7f010001", "null"), application=("0", "Application"))
    assert parse_apps(text)[0].label is None


def test_a_label_that_looks_like_other_lines_names_no_other_app() -> None:
    forged = "Mine icon=0x0\n    ActivityInfo:\n      packageName=com.example.bank"
    for place in ("own", "activity", "application"):
        forger = entry(0, "com.example.evil", **{place: ("0", forged)})  # type: ignore[arg-type]  # not ``name``
        assert parse_apps(forger) == [], place
    assert parse_apps(entry(0, "com.example.evil; reboot")) == []


@table(
    ("package", "name"),
    [
        ("com.android.settings", "Settings"),
        ("com.twitter.android", "Twitter"),
        ("com.example.DeskClock", "Desk Clock"),
        ("org.example.my_notes.debug", "My Notes"),
        ("com.android", "Android"),
        ("a.b", "B"),
    ],
)
def test_derived_names(package: str, name: str) -> None:
    assert LaunchableApp(package, "", None).derived_name == name


APPS = parse_apps(DUMP)


@pytest.mark.parametrize("name", ["Settings", " SETTINGS ", "com.android.settings"])
def test_the_app_that_is_called_so(name: str) -> None:
    assert app_called(APPS, name).application_id == "com.android.settings"


def test_two_apps_of_one_name_are_shown_and_none_is_chosen() -> None:
    twin = LaunchableApp("com.example.settings", "com.example.settings.Main", "Einstellungen")
    with pytest.raises(EngineError) as caught:
        app_called([*APPS, twin], "settings")
    error = caught.value
    assert (error.code, error.message) == (ErrorCode.APP_NOT_FOUND, "2 apps are called 'settings'")
    assert [row["applicationId"] for row in error.details["candidates"]] == [
        "com.android.settings",
        "com.example.settings",
    ]
    assert "com.example.settings" in error.hint
    crowd = [LaunchableApp(f"com.example.a{number}", "", "Same") for number in range(1_000)]
    with pytest.raises(EngineError, match="1000 apps are called 'same'") as caught:
        app_called(crowd, "same")
    assert len(caught.value.details["candidates"]) == 20


@pytest.mark.parametrize("name", ["Setings", "sett", "field"])
def test_a_part_of_a_name_opens_nothing_and_is_answered_with_what_is_near(name: str) -> None:
    with pytest.raises(EngineError) as caught:
        app_called(APPS, name)
    nearest = caught.value.details["nearest"][0]["applicationId"]
    assert nearest in ("com.android.settings", "com.example.notes")
    assert f"Did you mean '{nearest}'?" in caught.value.hint


def test_searching_shows_what_is_called_so_first() -> None:
    found = search([LaunchableApp("com.example.settings.plus", "", None), *APPS], "settings")
    assert [app.application_id for app in found] == ["com.android.settings", "com.example.settings.plus"]
    assert search(APPS, "") == APPS


@table(
    ("target", "is_name"),
    [
        ("Settings", True),
        ("Play Store", True),
        ("Dr. Mario", True),
        ("1Password", True),
        ("com.android.settings", False),
        ("android", False),
        ("com..settings", False),
        ("com.android.settings/.Settings", False),
        ("mailto:me", False),
        ("", False),
        (" ", False),
        ("x" * 256, False),
    ],
)
def test_what_is_a_name(target: str, is_name: bool) -> None:
    assert is_app_name(target) is is_name


_NAMES = st.text(string.ascii_letters + " .=:#-éß漢\u202e", max_size=20)


@given(st.lists(st.tuples(st.from_regex(r"[a-z]{1,6}(\.[a-zA-Z_0-9]{1,6}){1,3}", fullmatch=True), _NAMES), max_size=8))
def test_what_is_printed_is_read(apps: list[tuple[str, str]]) -> None:
    dump = "".join(entry(at, name, activity=("0", label)) for at, (name, label) in enumerate(apps))
    first = dict(reversed(apps))
    found = {app.application_id: app.label for app in parse_apps(dump)}
    wanted = {name: None if label.strip() in ("", "null") else label.strip() for name, label in first.items()}
    assert found == wanted


@given(st.text(max_size=400), st.text(max_size=20))
def test_any_text_is_read_and_searched(text: str, name: str) -> None:
    apps = parse_apps(DUMP[: len(text)] + text + DUMP[len(text) :])
    assert all(app.derived_name for app in apps)
    assert set(search(apps, name)) <= set(apps)
    if called := [app for app in apps if " ".join(name.split()).casefold() in app.names]:
        assert called == search(apps, name)[: len(called)]
