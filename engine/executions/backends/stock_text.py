"""Text as the stock backend types it: the script of keys, the field that gets them, and whether they arrived there. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clawperator.engine.adb.android_user import CURRENT
from clawperator.engine.contracts.limits import utf16_length
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.keys import PIECE, SHORT
from clawperator.engine.hierarchy.traits import is_editable, is_hint, same_text
from clawperator.engine.hierarchy.tree import UiNode, UiTree

SELECTS_ALL = 33
"""The first API level whose ``input keycombination`` presses modifiers: Android 12 types the letter alone."""
SHOWS_BULLETS = 26
"""The first API level whose trees have a bullet for each character of a password."""
OR_END = " >&2 || exit 1; "
_CLEAR_ALL = "input keycombination CTRL_LEFT A >/dev/null 2>&1 && input keyevent KEYCODE_DEL >&2 || "
_BY_METHOD = (
    f"settings get {CURRENT} secure default_input_method"
    " > {file}.ime; (ime set {method} >&2 || exit 1; input tap {x} {y} >&2 || exit 1; n=0; "
    'until dumpsys input_method | grep -q mInputShown=true || [ "$n" -ge 20 ]; do n=$((n+1)); done; '
    f"am broadcast {CURRENT}"
    " -p {package} -a ADB_CLEAR_TEXT >&2; "
    f"am broadcast {CURRENT}"
    " -p {package} -a ADB_INPUT_B64 --es msg {data} >&2; "
)
"""The broadcasts are those of ADBKeyBoard, which receives them once its view is shown."""
_METHOD_BACK = '); r=$?; ime set "$(cat {file}.ime)" >/dev/null 2>&1; rm -f {file}.ime; exit $r'
_NO_KEY_HINT = "Use the operator backend, or name an input method of the device in the setting execution.input_method."
_MOST_KEYS = 1_000
"""Keys that delete before the cursor, and as many behind it."""
_PASSWORD_KEYS = 64
"""A password's length may not show."""


class Keys(NamedTuple):
    """A piece of a script that types, with its values: it presses ``presses`` keys, ``typed`` of which are characters of the text."""

    script: str
    values: Mapping[str, str | Sequence[str]]
    presses: int
    typed: int = 0


class Typing(NamedTuple):
    """The pieces of a script that types, at least one; ``end`` stands behind the dump that reads the field back."""

    pieces: Sequence[Keys]
    sent: list[str]
    route: str
    end: str = ""


def typed_pieces(text: str) -> list[str]:
    """Return ``text`` as arguments of ``input text``, of bounded length: it reads ``%s`` as a space, so a literal one is typed in two.

    Raises ``EngineError`` (TEXT_NOT_DELIVERED) for a character without a key: ``input`` would type nothing.
    """
    if bad := next((sign for sign in text if not " " <= sign <= "~"), ""):
        message = f"Android's input cannot type the character U+{ord(bad):04X}; nothing was sent"
        raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, message, hint=_NO_KEY_HINT)
    words = text.replace("%s", "%\0s").split("\0")
    pieces = [word[at : at + PIECE] for word in words for at in range(0, len(word), PIECE)]
    return [piece.replace(" ", "%s") for piece in pieces]


def cut_short(done: int, length: int) -> str:
    """Return what to add to the words about a plan whose time is over: how much of a text was typed."""
    if not length:
        return ""
    if done == length:
        return f"; all {length} characters were typed, and not read back"
    return f"; {done} of {length} characters were typed, and no more will follow"


def undelivered(reason: str, hint: str = "") -> EngineError:
    return EngineError(ErrorCode.TEXT_NOT_DELIVERED, f"The text did not arrive: {reason}", hint=hint)


def require_typable(field: UiNode, text: str, sdk: int, method: str) -> None:
    """Raise ``EngineError`` (TEXT_NOT_DELIVERED) for what neither keys nor the input method can replace."""
    try:
        typed_pieces(text)
    except EngineError:
        if not method:
            raise
    else:
        if (length := utf16_length(field.text)) > _MOST_KEYS and sdk < SELECTS_ALL:
            words = f"The field holds {length} characters; keys can replace {_MOST_KEYS}"
            raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, f"{words}. Nothing was sent.")


def typing(field: UiNode, text: str, sdk: int, method: str, point: tuple[int, int] | None) -> Typing:
    """Return how ``text`` replaces the content of ``field``, which has the focus: by keys, else by the input method.

    ``point`` shows the input method's view, if a finger reaches the field. Raises as ``require_typable``.
    """
    require_typable(field, text, sdk, method)
    try:
        pieces = typed_pieces(text)
    except EngineError:
        return _by_method(text, method, point)
    length = max(utf16_length(field.text), _PASSWORD_KEYS if field.password else 0)
    sent = [f"input keyevent: delete the content ({length} characters)"] if length else []
    sent.append(f"input text ({len(text)} characters)")
    typed = [Keys(f"input text {{value}}{OR_END}", {"value": piece}, (n := _length_of(piece)), n) for piece in pieces]
    return Typing(_joined([*_clearing(length, sdk), *typed]), sent, "input text")


def _length_of(piece: str) -> int:
    return len(piece.replace("%s", " "))


def _clearing(length: int, sdk: int) -> list[Keys]:
    """Return the keys that delete so many characters before the cursor, and as many behind it."""
    many = min(length, _MOST_KEYS)
    keys = ["KEYCODE_DEL"] * many + ["KEYCODE_FORWARD_DEL"] * many
    script = f"input keyevent {{value}}{OR_END}"
    if keys and sdk >= SELECTS_ALL:
        return [Keys(_CLEAR_ALL + script, {"value": keys}, 2)]
    parts = [keys[at : at + PIECE] for at in range(0, len(keys), PIECE)]
    return [Keys(script, {"value": part}, len(part)) for part in parts]


def _joined(keys: Sequence[Keys]) -> list[Keys]:
    """Return the keys in as few pieces as their length allows."""
    pieces: list[Keys] = []
    most = SHORT if sum(one.presses for one in keys) <= SHORT else PIECE
    for number, one in enumerate(keys):
        name = f"v{number}"
        last = pieces.pop() if pieces and pieces[-1].presses + one.presses <= most else Keys("", {}, 0)
        script, values = one.script.replace("{value}", f"{{{name}}}"), {name: one.values["value"]}
        joined = Keys(
            last.script + script, {**last.values, **values}, last.presses + one.presses, last.typed + one.typed
        )
        pieces.append(joined)
    return pieces


def _by_method(text: str, method: str, point: tuple[int, int] | None) -> Typing:
    data = base64.b64encode(text.encode()).decode()
    values = {"method": method, "package": method.partition("/")[0], "data": data}
    script, sent = _BY_METHOD, [f"ime set {method}", f"am broadcast: {len(text)} characters", "ime set: as before"]
    if point is None:
        script = script.replace("input tap {x} {y} >&2 || exit 1; ", "")
    else:
        x, y = map(str, point)
        values |= {"x": x, "y": y}
        sent.insert(1, f"input tap {x} {y}")
    return Typing([Keys(script, values, len(text), len(text))], sent, "input method", _METHOD_BACK)


# -- the field


def focused_field(tree: UiTree) -> UiNode | None:
    return next((node for node in tree.on_screen if node.focused and is_editable(node)), None)


def find_field(field: UiNode, before: UiTree, now: UiTree) -> UiNode | None:
    """Return the field of ``now`` that is ``field`` of the tree ``before``: of as many of its kind the same one, else by its path."""
    old, new = ([node for node in _fields(tree) if _kind(node) == _kind(field)] for tree in (before, now))
    if len(old) == len(new) and field in old:
        return new[old.index(field)]
    return next((node for node in new if node.path == field.path), None)


def _fields(tree: UiTree) -> list[UiNode]:
    return [node for node in tree.on_screen if is_editable(node)]


def _kind(node: UiNode) -> tuple[str, str, bool]:
    return node.cls, node.resource_id, node.password


def require_focus(field: UiNode, before: UiTree, now: UiTree) -> UiNode:
    """Return the field that has the focus after a tap at ``field`` of the tree ``before``.

    Raises ``EngineError`` (TEXT_NOT_DELIVERED) if that is another one than ``field``, or one that it has made room for.
    """
    holder = focused_field(now)
    if holder is None:
        raise undelivered("the field was tapped, and no field has the focus; nothing was typed")
    there = find_field(field, before, now)
    if holder is there:
        return holder
    was = focused_field(before)
    is_old = was is not None and find_field(was, before, now) is holder
    if there is not None or is_old or holder.password != field.password:
        raise undelivered(f"the field was tapped, and {called(holder)} has the focus; nothing was typed")
    return holder


def arrival(field: UiNode, text: str, before: UiTree, now: UiTree, sdk: int) -> Mapping[str, str]:
    """Return the facts about a text that was typed into ``field`` of the tree ``before``, as ``now`` shows it.

    Raises ``EngineError`` (TEXT_NOT_DELIVERED) where the field does not have exactly ``text``, or as many bullets.
    """
    there = find_field(field, before, now)
    holder = focused_field(now)
    moved = holder is not None and there is None and holder.password == field.password
    for node in (there, holder if moved else None):
        if node is None:
            continue
        if not field.password and (facts := _text_facts(field, node, text)) is not None:
            return facts
        if field.password and (facts := _password_facts(node, text, sdk)) is not None:
            return facts
    seen = "the field is gone" if there is None else _difference(field, there, text)
    changed = [
        f"{called(new)} now holds {_length(new)}"
        for old in _fields(before)
        if old is not field and (new := find_field(old, before, now)) is not None and new.text != old.text
    ]
    hint = "Take a snapshot: the field may hold what you want, in a form of its own." if there is not None else ""
    words = f"The field does not hold exactly what was typed: {'; '.join([seen, *changed[:3]])}"
    raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, words, hint=hint)


def _text_facts(field: UiNode, node: UiNode, text: str) -> Mapping[str, str] | None:
    """Return the facts if ``node`` shows ``text``, ``None`` if it does not; ``field`` is as it was before typing.

    An empty field shows its hint as its text: that proves nothing.
    """
    if not same_text(node.text, text):
        return None
    if is_hint(node) or ("hint" not in node.attributes and field.text == node.text):
        note = "The field has shown this text before, as its hint or its content: that it was typed is not verified."
        return {"verified": "false", "note": note}
    note = "" if node.text == text else "The field holds the text in another Unicode form."
    return {"verified": "true", **({"note": note} if note else {})}


def _difference(field: UiNode, node: UiNode, text: str) -> str:
    """Return how the content of ``node`` differs from ``text``, without either: they may be secret."""
    shown, typed = "" if is_hint(node) else node.text, len(text)
    has = f"the field has {_length(node) if field.password else f'{len(shown)} characters'}"
    if not field.password and shown:
        if shown.casefold() == text.casefold():
            return f"{has} in other capitals: the keyboard or the app changes them"
        if (letters := _letters(text)) and _letters(shown) == letters:
            return f"{has} for the {typed} that were typed: the app formats them"
        if text.startswith(shown):
            return f"{has}, the first of the {typed} that were typed: it may take no more"
        if field.text and not is_hint(field) and text in shown:
            return f"{has}, with the {typed} that were typed among them: it could not be emptied before"
        if len(shown) == typed:
            return f"{has}, as many as were typed, but others: the keyboard or the app changes them"
    return f"{has}, not the {typed} that were typed"


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _password_facts(node: UiNode, text: str, sdk: int) -> Mapping[str, str] | None:
    """Return the facts if the bullets of a password are as many as its characters, ``None`` if they are not."""
    if _is_hidden(node.text) and utf16_length(node.text) == utf16_length(text):
        return {"verified": "true", "note": "A password is verified by its focus and its length."}
    if not node.text and node.focused and sdk < SHOWS_BULLETS:
        return {"verified": "false", "note": "This Android shows no length of a password: only its focus is verified."}
    return None


def _is_hidden(text: str) -> bool:
    """Return whether a text is bullets; the last character may show for a moment."""
    return not any(sign.isalnum() or sign.isspace() for sign in text[:-1]) and len(set(text[:-1])) <= 1


def _length(node: UiNode) -> str:
    """Return how much a field holds, in words; the text of a password without bullets is its hint."""
    if node.password and not _is_hidden(node.text):
        return "no characters"
    return f"{len(node.text)} characters"


def called(node: UiNode) -> str:
    """Return what messages call a field: its id, else its place; its text may be a secret."""
    return f"the field {node.resource_id}" if node.resource_id else f"the field at {node.bounds}"
