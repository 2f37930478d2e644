"""Find, read and search the skills registry (skills.md#registry); ``validation`` checks it against its schema.

A registry is untrusted input. One of 5,000 skills is read at every command, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
import os
import posixpath
from contextlib import contextmanager
from dataclasses import dataclass

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NoReturn

BUILTIN = "builtin"
"""The name of the built-in registry, accepted in place of a file."""
VARIABLE = "CLAWPERATOR_SKILLS_REGISTRY"
FILE = "skills-registry.json"
FOLDER = "skills"
"""The folder below the root with the registry and the folders of the skills."""
COMPILED = (".recipe.json", ".recipe.md")
"""Endings of the artifacts that become executions (skills.md#recipes); others are for people."""
MAX_BYTES = 64 * 1024 * 1024
"""Of a registry."""
MAX_FILE_BYTES = 1024 * 1024
"""Of every other file: skill.json, SKILL.md, artifacts."""
_LONGEST = 200
"""Of ids in messages and comparisons."""
_SUGGESTED = 3
_ALIKE, _NEARLY_AS = 0.6, 0.05
_HINT = "Run `clawperator skills install`, pass --registry <file>, or use --registry builtin for the built-in skills."


FALLBACK = "fallback_instructions_path"
"""Key of an entry and of errors: a document with instructions in case the skill fails."""
ENTRY_INVALID = "REGISTRY_ENTRY_INVALID"
"""The warning about an ignored entry."""
_REQUIRED = ("id", "applicationId", "intent", "summary", "path", "skillFile")
"""Required strings; ``scripts`` is not one of them: a skill may consist of artifacts."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An unusable entry: its ``position`` in the file, its id if it has one, and a human-readable ``reason``."""

    position: int
    skill_id: str
    reason: str
    entry: object

    def to_warning(self) -> dict[str, str]:
        named = f" ({self.skill_id})" if self.skill_id else ""
        message = f"The registry entry {self.position}{named} is ignored: {self.reason}"
        return {"code": ENTRY_INVALID, "path": f"$.skills[{self.position}]", "message": message}


@dataclass(frozen=True, slots=True)
class Registry:
    """The usable entries of the registry at ``path``, in file order and with all of their keys.

    Paths in entries are relative to ``root`` and inside it. ``source``: ``flag``, ``env``, ``cwd``, ``installed`` or ``builtin``.
    """

    path: str
    root: str
    skills: tuple[dict[str, Any], ...]
    source: str
    left_out: tuple[LeftOut, ...] = ()

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Return a warning for each ignored entry: ``{code, path, message}``."""
        return [entry.to_warning() for entry in self.left_out]

    def position(self, index: int) -> int:
        """Return the position of ``skills[index]`` in the file."""
        for entry in self.left_out:
            index += entry.position <= index
        return index

    def get(self, skill_id: str) -> dict[str, Any]:
        """Return the entry with this id. Raises ``SKILL_NOT_FOUND`` with ``details.skillId``; the hint suggests similar ids."""
        for entry in self.skills:
            if entry.get("id") == skill_id:
                return entry
        named = _shown(skill_id)
        near = nearest(skill_id, self.skills)
        hint = f"Did you mean {' or '.join(near)}?" if near else None
        if skill_id and (bad := next((one for one in self.left_out if one.skill_id == named), None)):
            hint = f"Correct its entry in the registry: {bad.reason}."
        raise EngineError(
            ErrorCode.SKILL_NOT_FOUND,
            f"Skill not found: {named}",
            hint=hint,
            details={"skillId": named, "registryPath": self.path},
            extra={"skillId": named},
        )

    def fallback(self, skill_id: str) -> dict[str, str]:
        """Return the ``fallback_instructions_path`` for errors of this skill; empty without a file inside the root."""
        entry = next((entry for entry in self.skills if entry.get("id") == skill_id), {})
        named = entry.get(FALLBACK)
        try:
            path = self.place(skill_id, named) if isinstance(named, str) and named else ""
        except EngineError:  # outside of the root
            return {}
        return {FALLBACK: path} if os.path.isfile(path) else {}

    @contextmanager
    def named_in_errors(self, skill_id: str) -> Iterator[None]:
        """Add the skill's fallback instructions to errors of the block."""
        try:
            yield
        except EngineError as exc:
            for key, path in self.fallback(skill_id).items():
                exc.extra.setdefault(key, path)
            raise

    def place(self, skill_id: str, relative: str) -> str:
        """Return the absolute real path of ``relative``, which need not exist.

        Raises ``REGISTRY_READ_FAILED`` (``details.skillId``) if it is outside of the root after resolving symbolic links.
        """
        try:
            root = os.path.realpath(self.root)
            path = os.path.realpath(os.path.join(root, relative))
        except ValueError:  # NUL and lone surrogates
            raise _outside(self.path, skill_id, relative) from None
        if leaves(relative) or os.path.commonpath((root, path)) != root:
            raise _outside(self.path, skill_id, relative)
        return path


# -- finding


def find_registry(env: Mapping[str, str], *, explicit: str | None = None, cwd: str | None = None) -> tuple[str, str]:
    """Return the path of the registry file and its source: ``flag``, ``env``, ``cwd``, ``installed`` or ``builtin``.

    A path from the caller or the environment is not checked and has no fallback. Folders above the working folder are not
    searched: another user may own them, and a skill is a script that runs on this computer.

    Raises ``REGISTRY_READ_FAILED`` with ``details.checked`` if no registry is found.
    """
    here = _working_folder() if cwd is None else cwd
    for named, source in ((explicit, "flag"), (env.get(VARIABLE), "env")):
        if named == BUILTIN:
            return builtin_path(), BUILTIN
        if named:
            return os.path.abspath(os.path.join(here, _from_home(named, env))), source
    candidates = (
        (os.path.abspath(os.path.join(here, FOLDER, FILE)), "cwd"),
        (installed_path(env), "installed"),
    )
    for path, source in candidates:
        if os.path.lexists(path):
            return path, source
    checked = [path for path, _ in candidates]
    raise EngineError(
        ErrorCode.REGISTRY_READ_FAILED,
        f"No skills registry found. Checked: {', '.join(checked)}",
        hint=_HINT,
        details={"checked": checked, "variable": VARIABLE},
    )


def _working_folder() -> str:
    """Return the current folder, or the root if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.sep


def _from_home(path: str, env: Mapping[str, str]) -> str:
    """Expand a leading ``~/`` by the home of ``env``: no shell has expanded the value of a variable."""
    if not path.startswith("~/"):
        return path
    from clawperator.engine.config.settings import home_folder

    return os.path.join(os.path.dirname(home_folder(env)), path[2:])


def builtin_path() -> str:
    """Return the path of the built-in registry."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), BUILTIN, FOLDER, FILE)


def checkout_folder(env: Mapping[str, str]) -> str:
    """Return the folder into which ``skills install`` clones the repository (skills.md#installing)."""
    from clawperator.engine.config.settings import home_folder

    return os.path.join(home_folder(env), FOLDER)


def installed_path(env: Mapping[str, str]) -> str:
    """Return the path of the installed registry."""
    return os.path.join(checkout_folder(env), FOLDER, FILE)


def open_registry(env: Mapping[str, str], explicit: str | None = None, *, fallback: bool = False) -> Registry:
    """Find and read the registry; ``fallback`` opens the built-in one if none is chosen and none found."""
    try:
        path, source = find_registry(env, explicit=explicit)
    except EngineError as exc:
        if not (fallback and "checked" in exc.details):
            raise
        path, source = builtin_path(), BUILTIN
    return load_registry(path, source)


# -- reading


def load_registry(path: str, source: str = "flag") -> Registry:
    """Read the registry file at ``path``.

    An entry that is not an object, lacks a field or has a path outside of the root is ignored. Raises ``REGISTRY_READ_FAILED``
    with ``details.{path, reason}``.
    """
    if path == BUILTIN:
        path, source = builtin_path(), BUILTIN
    path = os.path.abspath(path)
    skills = read_document(path, source)["skills"]
    left_out = []
    for position, entry in enumerate(skills):
        try:  # fast path: nearly every entry passes, and there may be thousands
            paths = "\n".join(("", entry["path"], entry["skillFile"], *entry["scripts"], *entry["artifacts"]))
            if not (".." in paths or "\n/" in paths or "\0" in paths):
                "".join((entry["id"], entry["applicationId"], entry["intent"], entry["summary"]))
                if entry["id"] and entry["path"] and entry["skillFile"]:
                    continue
        except (KeyError, TypeError):
            pass
        if reason := _unusable(entry):
            skill_id = entry.get("id") if isinstance(entry, dict) else ""
            left_out.append(LeftOut(position, _shown(skill_id) if isinstance(skill_id, str) else "", reason, entry))
    if left_out:
        bad = {entry.position for entry in left_out}
        skills = [entry for position, entry in enumerate(skills) if position not in bad]
    return Registry(path, os.path.dirname(os.path.dirname(path)), tuple(skills), source, tuple(left_out))


def read_document(path: str, source: str = "flag") -> dict[str, Any]:
    """Read a registry file without checking its entries. Raises ``REGISTRY_READ_FAILED``."""
    document = _parse(_read(path, source), path, source)
    if not isinstance(document, dict) or not isinstance(document.get("skills"), list):
        _refuse(path, source, "it is not an object with an array `skills`", pointer="$.skills")
    return document


def _unusable(entry: object) -> str:
    """Return why an entry is ignored; empty for a usable one."""
    if not isinstance(entry, dict):
        return "it is not an object"
    if lacking := [key for key in _REQUIRED if key not in entry]:
        return f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing"
    if wrong := [key for key in _REQUIRED if not isinstance(entry[key], str)]:
        return f"{', '.join(wrong)} must be text"
    if empty := [key for key in ("id", "path", "skillFile") if not entry[key]]:
        return f"{', '.join(empty)} must not be empty"
    paths = [entry["path"], entry["skillFile"], *texts_of(entry, "scripts"), *texts_of(entry, "artifacts")]
    outside = next((relative for relative in paths if leaves(relative)), None)
    return f"its path {_shown(outside)} is outside of the registry's folder" if outside is not None else ""


def texts_of(entry: Mapping[str, Any], key: str) -> list[str]:
    """Return the texts of a list in an entry, which is untrusted: other values count as absent."""
    values = entry.get(key)
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def leaves(relative: str) -> bool:
    """Return whether the text of a path leads out of the root."""
    normal = posixpath.normpath(relative)
    return normal.startswith(("/", "../")) or normal == ".." or "\0" in relative


def _read(path: str, source: str) -> bytes:
    try:
        return read_file(path, MAX_BYTES)
    except OSError as exc:
        _refuse(path, source, exc.strerror or str(exc), cause=exc)


def _parse(content: bytes, path: str, source: str) -> object:
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_no_constant)
    except json.JSONDecodeError as exc:
        reason = f"{exc.msg} at line {exc.lineno}, column {exc.colno}"
        _refuse(path, source, reason, cause=exc, line=exc.lineno, column=exc.colno)
    except UnicodeDecodeError as exc:
        _refuse(path, source, f"it is not UTF-8 at byte {exc.start}", cause=exc)
    except RecursionError as exc:
        _refuse(path, source, "it is nested too deeply", cause=exc)
    except ValueError as exc:  # constants, and numbers with too many digits
        _refuse(path, source, str(exc), cause=exc)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _refuse(path: str, source: str, reason: str, *, cause: Exception | None = None, **facts: Any) -> NoReturn:
    variable = {"variable": VARIABLE} if source == "env" else {}
    named = f" named by {VARIABLE}" if variable else ""
    raise EngineError(
        ErrorCode.REGISTRY_READ_FAILED,
        f"Cannot read the skills registry {path}{named}: {reason}",
        hint=_HINT,
        details={"path": path, "reason": reason, **facts, **variable},
    ) from cause


def _outside(path: str, skill_id: str, relative: str) -> EngineError:
    named, where = _shown(skill_id), _shown(relative)
    return EngineError(
        ErrorCode.REGISTRY_READ_FAILED,
        f"A path of skill {named} is outside of the registry's folder: {where}",
        hint="Paths must stay inside the folder that contains skills/, symbolic links included.",
        details={"skillId": named, "path": where, "registryPath": path},
    )


# -- names


def nearest(skill_id: str, skills: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return similar ids, best first: those that contain the text, else the most similar ones."""
    asked = skill_id[:_LONGEST].casefold()
    ids = [text for entry in skills if isinstance(text := entry.get("id"), str) and len(text) <= _LONGEST]
    if holding := [text for text in ids if asked and asked in text.casefold()]:
        return sorted(holding, key=lambda text: (len(text), text))[:_SUGGESTED]
    pairs = _pairs(asked)
    likeness = {
        text: 2 * len(pairs & other) / (len(pairs) + len(other) or 1) for text in ids if (other := _pairs(text))
    }
    enough = max(_ALIKE, max(likeness.values(), default=0.0) - _NEARLY_AS)
    alike = [text for text in likeness if likeness[text] >= enough]
    return sorted(alike, key=lambda text: (-likeness[text], text))[:_SUGGESTED]


def _pairs(text: str) -> set[str]:
    """Return the pairs of adjacent characters, by which texts are compared."""
    folded = text.casefold()
    return {folded[at : at + 2] for at in range(len(folded) - 1)}


def _shown(text: str) -> str:
    """Return an untrusted text for a message: bounded and encodable."""
    return text[:_LONGEST].encode("utf-8", "replace").decode()


def search(
    registry: Registry, *, app: str | None = None, intent: str | None = None, keyword: str | None = None
) -> list[dict[str, Any]]:
    """Return the entries that match all criteria, in file order.

    ``app`` and ``intent`` are exact; ``keyword`` is part of the id, the summary, the application id or a keyword, ignoring case.
    """
    found = list(registry.skills)
    if app is not None:
        found = [entry for entry in found if entry.get("applicationId") == app]
    if intent is not None:
        found = [entry for entry in found if entry.get("intent") == intent]
    if not keyword:
        return found
    folded = keyword.casefold()
    return [entry for entry in found if folded in _described(entry).casefold()]


def _described(entry: Mapping[str, Any]) -> str:
    """Return the searchable texts of an entry, joined by NUL, which no keyword contains: there may be thousands."""
    words = entry.get("keywords", [])
    if isinstance(words, list):
        try:
            return "\0".join((entry["id"], entry["summary"], entry["applicationId"], *words))
        except (KeyError, TypeError):  # the file is untrusted
            pass
    named = (text for key in ("id", "summary", "applicationId") if isinstance(text := entry.get(key), str))
    return "\0".join((*named, *texts_of(entry, "keywords")))
