"""Nothing of a person leaves: the one place where that is decided."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clawperator.engine.text.redact import Redactor, without_messages
from tests.support import table

SERIALS = ("R5CT20ABCDE", "emulator-5554", "192.168.1.20:5555", "adb-R5CT20-x1y2z3._adb-tls-connect._tcp", "ab")


def redactor() -> Redactor:
    return Redactor(home="/home/jane.doe", user="jane.doe", host="janes-laptop.lan", serials=SERIALS)


@table(
    ("text", "left"),
    [
        ('File "/home/jane.doe/x.py", line 3', 'File "~/x.py", line 3'),
        ("/home/jane.doe2/x and /home/bob/y", "/home/<user>/x and /home/<user>/y"),
        ("/Users/Ann/x, C:\\Users\\Ann\\x", "/Users/<user>/x, C:\\Users\\<user>\\x"),
        ("owned by Jane.Doe on JANES-LAPTOP.lan", "owned by <user> on <host>"),
        ("mail jane@example.co.uk now", "mail <email> now"),
        ("Authorization: Bearer abc.def-ghi12", "Authorization: <secret> <secret>"),
        ('password = "hunter2", x', 'password = "<secret>", x'),
        ("export MY_API_KEY=abc;ls", "export MY_API_KEY=<secret>;ls"),
        ("x-token-id_tokens: abc", "x-token-id_tokens: <secret>"),
        ("https://user:pass@host.example/x", "https://<secret>@host.example/x"),
        ("ghp_abcdefghijklmnopqrst", "<secret>"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "<secret>"),
        ("d41d8cd98f00b204e9800998ecf8427e", "<secret>"),
        ("Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMzQ1Ng==", "<secret>"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", "<secret>\nx"),
        ("-----BEGIN PRIVATE KEY-----\nabc, cut off", "<secret>"),
        ("connected to 10.0.0.7:5555", "connected to <address>:5555"),
        ("r5ct20abcde is offline", "<device-1> is offline"),
    ],
)
def test_what_goes(text: str, left: str) -> None:
    assert (
        Redactor(home="/home/jane.doe", user="jane.doe", host="janes-laptop.lan", serials=SERIALS[:1]).text(text)
        == left
    )


@table(
    "text",
    [
        "8b1a9953-c461-4b1f-a9e1-0123456789ab",
        "/usr/lib/python3.11/site-packages/textual/drivers/web_driver.py",
        "test_a_very_long_function_name_with_1_digit_in_it",
        "RESULT_ENVELOPE_TIMEOUT after 20.0 s, retry 4/5",
        "127.0.0.1:5037",
        "version 36.0.0, Python 3.11.7",
        "the janitor jane.doerr",
        "com.clawperator.operator.dev",
    ],
)
def test_what_stays(text: str) -> None:
    assert redactor().text(text) == text


def test_a_device_is_the_same_everywhere_and_two_are_two() -> None:
    one = redactor()
    shown = one.value(
        {"deviceId": "R5CT20ABCDE", "detail": "R5CT20ABCDE and emulator-5554", "other": ["ab", "abc", "emulator-5600"]}
    )
    assert shown["detail"].startswith(shown["deviceId"])
    assert shown["deviceId"].startswith("<device-")
    assert shown["detail"].rpartition(" ")[2].startswith("<emulator-")
    assert shown["other"][0].startswith("<device-")
    assert shown["other"][1] == "abc"
    assert shown["other"][2] not in (shown["detail"].rpartition(" ")[2], "emulator-5600")
    assert one.counts["device serial"] == 5


def test_what_stands_under_a_secret_s_name_goes_whatever_it_is() -> None:
    shown = redactor().value(
        {"api_key": "three words here", "nested": [{"Cookie": "a=b"}], "token": 3, "tokens": {"x": "y"}}
    )
    assert shown == {"api_key": "<secret>", "nested": [{"Cookie": "<secret>"}], "token": 3, "tokens": {"x": "y"}}


def test_no_one_in_particular_is_not_looked_for() -> None:
    plain = Redactor(home="/root", user="root", host="localhost")
    assert plain.text("root of the tree on localhost, /root/x") == "root of the tree on localhost, ~/x"
    assert Redactor(home="/").text("/usr/bin") == "/usr/bin"
    assert Redactor().text("nothing known") == "nothing known"


def test_everything_is_counted() -> None:
    one = redactor()
    one.text("/home/jane.doe/x jane@example.org jane.doe password=x R5CT20ABCDE janes-laptop.lan 10.0.0.1:22")
    assert dict(one.counts) == {
        "home folder": 1, "e-mail address": 1, "user name": 1, "token": 1, "device serial": 1, "host name": 1, "network address": 1,
    }  # fmt: skip


NAME = st.text("abcdefghijklmnopqrstuvwxyz0123456789._-", min_size=1, max_size=20)
SECRETS = st.one_of(
    st.builds(
        "{}@{}.com".format, NAME.filter(lambda name: name[0].isalnum()), st.text("abcdefgh", min_size=1, max_size=9)
    ),
    st.sampled_from(
        ["/home/jane.doe/private", "R5CT20ABCDE", "192.168.1.20:5555", "emulator-5554", "janes-laptop.lan"]
    ),
    st.text("0123456789abcdef", min_size=32, max_size=64),
    st.builds("ghp_{}".format, st.text("abcXYZ012", min_size=16, max_size=40)),
)
AROUND = st.text(" \n\t,;()<>[]{}!?|äß日", max_size=6)


@given(st.lists(st.tuples(AROUND, SECRETS), min_size=1, max_size=5), st.booleans())
def test_no_secret_survives_wherever_it_stands(parts: list[tuple[str, str]], as_json: bool) -> None:
    text = "".join(f"{before} {secret} " for before, secret in parts)
    left = json.dumps(redactor().value({"a": [text], text: 1})) if as_json else redactor().text(text)
    for _, secret in parts:
        assume(secret.strip(".-_"))
        assert secret not in left


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_data_keeps_its_shape(value: Any) -> None:
    def shape(data: Any) -> Any:
        if isinstance(data, dict):
            return len(data) >= len({redactor().text(key) for key in data})
        return [shape(item) for item in data] if isinstance(data, list) else isinstance(data, str) or data

    assert shape(redactor().value(value)) == shape(value)


@given(st.text())
def test_a_second_time_changes_nothing(text: str) -> None:
    once = redactor().text(text)
    assert redactor().text(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "token",
        "api_key-",
        "a@",
        "x=",
        "/home/",
        "1.1.",
        "eyJaaaaaaaaa.",
        "-----BEGIN PRIVATE KEY",
        "Bearer ",
    ],
)
def test_no_text_takes_for_ever(piece: str) -> None:
    begun = time.process_time()
    redactor().text(piece * (64 * 1024 // len(piece)))
    assert time.process_time() - begun < 10


TRACEBACK = """2026-01-02 03:04:05  a row of #tree
clawperator 0.1.0, Python 3.11.7, Linux
Traceback (most recent call last):
  File "/x/app.py", line 3, in draw
    value = int(text)
            ^^^^^^^^^
ValueError: invalid literal: 'Dear Jane'
    your balance is 300

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x/app.py", line 9, in paint
    raise DrawError("x") from exc
clawperator.widgets.DrawError: Dear Jane
  and
Secret: yes
"""


def test_a_traceback_keeps_where_and_what_kind_but_not_the_words() -> None:
    assert without_messages(TRACEBACK) == [
        "2026-01-02 03:04:05  a row of #tree",
        "clawperator 0.1.0, Python 3.11.7, Linux",
        "Traceback (most recent call last):",
        '  File "/x/app.py", line 3, in draw',
        "ValueError: (message left out)",
        "During handling of the above exception, another exception occurred:",
        "Traceback (most recent call last):",
        '  File "/x/app.py", line 9, in paint',
        "clawperator.widgets.DrawError: (message left out)",
    ]


FRAME = '  File "/x/app.py", line 3, in <listcomp>'


@given(st.text().map(lambda text: text.replace("\r", "")))
def test_no_line_of_a_message_is_kept(message: str) -> None:
    fake = '  File "x.py", line 1, in draw\n    SECRET'
    story = f"Traceback (most recent call last):\n{FRAME}\n    SECRET\nValueError: SECRET {message}\n{fake}\n  SECRET"
    kept = without_messages(story)
    assert kept[:3] == ["Traceback (most recent call last):", FRAME, "ValueError: (message left out)"]
    assert not any("SECRET" in line for line in kept)
