"""The Android user that commands are for: always the one in the foreground.

Without the option a program acts for another one: ``settings`` and most verbs of ``pm`` for user 0, ``am broadcast`` and ``am force-stop`` for
all, ``pm list packages`` from Android 13 on for all, which fails where one of them is closed to adb (a Secure Folder, a work profile).

``am``, ``settings`` and ``cmd package install`` know the word ``current`` on every Android. Of ``pm`` only Android 11 and later do: an older
one answers for a user who has no apps. It gets the number, asked in the same script, or 0 where ``am`` does not know it (before Android 7).
"""

from __future__ import annotations

from clawperator.engine.adb.quote import device_script

CURRENT = "--user current"
"""The option in shell texts."""
_ASK_USER = (
    'if [ -z "$u" ]; then s=$(getprop ro.build.version.sdk); if [ "$s" -ge 30 ]; then u=current; '
    'elif [ "$s" -ge 24 ]; then u=$(am get-current-user); fi; u=${u:-0}; fi 2>/dev/null; '
)


def am(verb: str, *words: str) -> list[str]:
    """Return the command ``am VERB WORDS`` for the current user."""
    return ["am", verb, *CURRENT.split(), *words]


def settings(verb: str, *words: str) -> list[str]:
    """Return the command ``settings VERB WORDS`` for the current user."""
    return ["settings", verb, *CURRENT.split(), *words]


def pm(verb: str, *words: str) -> str:
    """Return the shell text of ``pm VERB WORDS`` for the current user; ``verb`` may be two words, such as ``list packages``."""
    return _ASK_USER + device_script('pm {verb} --user "$u" {words}', verb=verb.split(), words=words)
