"""The registry: which skills there are, and where their files lie (skills contract §1).

What stands in a registry was written by somebody else. Here it is only read, found and bounded; ``checking`` holds it against
its schema. A registry of 5,000 skills is read at every command, so nothing heavy is imported here.
"""

from __future__ import annotations

import errno
import json
import os
import posixpath
import stat
from dataclasses import dataclass

from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn

BUILTIN = "builtin"
"""Stands wherever a registry file can be named: the skills that come along."""
VARIABLE = "CLAWPERATOR_SKILLS_REGISTRY"
FILE = "skills-registry.json"
FOLDER = "skills"
"""The folder below the root that holds the registry and the skills' own folders."""
MAX_BYTES = 64 * 1024 * 1024
"""Of a registry."""
MAX_FILE_BYTES = 1024 * 1024
"""Of every other file that is read whole: skill.json, SKILL.md, artifacts."""
_LONGEST = 200
"""Of ids in messages and comparisons."""
_SUGGESTED = 3
_ALIKE, _NEARLY_AS = 0.6, 0.05
_HINT = (
    "Run `clawperator skills install`, name a registry with --registry <file>, or use --registry builtin for the skills "
    "that come along."
)


@dataclass(frozen=True, slots=True)
class Registry:
    """The entries of the registry at ``path``, in file order and with all of their keys.

    Paths in entries are relative to ``root`` and lead nowhere else. ``source`` says who chose the file: ``flag``, ``env``,
    ``cwd``, ``installed`` or ``builtin``.
    """

    path: str
    root: str
    skills: tuple[dict[str, Any], ...]
    source: str

    def get(self, skill_id: str) -> dict[str, Any]:
        """The entry of that id, exactly. Raises ``SKILL_NOT_FOUND`` with ``details.skillId``; the hint names near ids."""
        for entry in self.skills:
            if entry.get("id") == skill_id:
                return entry
        named = _shown(skill_id)
        near = nearest(skill_id, self.skills)
        raise EngineError(
            ErrorCode.SKILL_NOT_FOUND,
            f"Skill not found: {named}",
            hint=f"Did you mean {' or '.join(near)}?" if near else None,
            details={"skillId": named, "registryPath": self.path},
        )

    def place(self, skill_id: str, relative: str) -> str:
        """The absolute real path of ``relative``; the file itself need not exist.

        Raises ``REGISTRY_READ_FAILED`` (``details.skillId``) where it lies outside of the root, symbolic links followed.
        """
        try:
            root = os.path.realpath(self.root)
            path = os.path.realpath(os.path.join(root, relative))
        except ValueError:  # NUL and lone surrogates name no file
            raise _outside(self.path, skill_id, relative) from None
        if leaves(relative) or os.path.commonpath((root, path)) != root:
            raise _outside(self.path, skill_id, relative)
        return path


# -- finding


def find_registry(env: Mapping[str, str], *, explicit: str | None = None, cwd: str | None = None) -> tuple[str, str]:
    """The path of the registry file to use, and who chose it: ``flag``, ``env``, ``cwd``, ``installed`` or ``builtin``.

    What was named explicitly or by the environment is not looked at: whoever reads it fails there, without a fallback.
    Raises ``REGISTRY_READ_FAILED`` where nothing is named and nothing found, with the paths in ``details.checked``.
    """
    here = _working_folder() if cwd is None else cwd
    for named, source in ((explicit, "flag"), (env.get(VARIABLE), "env")):
        if named == BUILTIN:
            return builtin_path(), BUILTIN
        if named:
            return os.path.abspath(os.path.join(here, _from_home(named, env))), source
    candidates = (
        (os.path.abspath(os.path.join(here, FOLDER, FILE)), "cwd"),
        (os.path.abspath(os.path.join(here, "..", "..", FOLDER, FILE)), "cwd"),
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
    """The current folder, or the root where it does not exist any more."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.sep


def _from_home(path: str, env: Mapping[str, str]) -> str:
    """A path that begins with ``~/`` in the home of ``env``: what stands in a variable was expanded by no shell."""
    if not path.startswith("~/"):
        return path
    from clawperator.engine.settings import home_folder

    return os.path.join(os.path.dirname(home_folder(env)), path[2:])


def builtin_path() -> str:
    """The registry of the skills that come along."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), BUILTIN, FOLDER, FILE)


def checkout_folder(env: Mapping[str, str]) -> str:
    """Where ``skills install`` puts the repository (skills contract §5)."""
    from clawperator.engine.settings import home_folder

    return os.path.join(home_folder(env), FOLDER)


def installed_path(env: Mapping[str, str]) -> str:
    """The registry of what ``skills install`` fetched."""
    return os.path.join(checkout_folder(env), FOLDER, FILE)


def open_registry(env: Mapping[str, str], explicit: str | None = None) -> Registry:
    """Find the registry and read it."""
    path, source = find_registry(env, explicit=explicit)
    return load_registry(path, source)


# -- reading


def load_registry(path: str, source: str = "flag") -> Registry:
    """Read the registry file at ``path``.

    Raises ``REGISTRY_READ_FAILED`` with ``details.{path, reason}`` for what is no JSON object with an array ``skills`` of
    objects, and with ``details.skillId`` for an entry whose paths leave the root.
    """
    if path == BUILTIN:
        path, source = builtin_path(), BUILTIN
    path = os.path.abspath(path)
    skills = read_document(path, source)["skills"]
    for place, entry in enumerate(skills):
        try:  # nearly every entry passes here: one look at all of its paths at once, because there may be thousands
            paths = "\n".join(("", entry["path"], entry["skillFile"], *entry["scripts"], *entry["artifacts"]))
            if not (".." in paths or "\n/" in paths or "\0" in paths):
                continue
        except (KeyError, TypeError):
            pass
        if not isinstance(entry, dict):
            _refuse(path, source, f"skills[{place}] is no object", pointer=f"$.skills[{place}]")
        _keep_inside(path, entry)
    return Registry(path, os.path.dirname(os.path.dirname(path)), tuple(skills), source)


def read_document(path: str, source: str = "flag") -> dict[str, Any]:
    """All of a registry file, its entries unchecked. Raises ``REGISTRY_READ_FAILED``, as ``load_registry`` does."""
    document = _parse(_read(path, source), path, source)
    if not isinstance(document, dict) or not isinstance(document.get("skills"), list):
        _refuse(path, source, "it is no object with an array `skills`", pointer="$.skills")
    return document


def _keep_inside(registry: str, entry: Mapping[str, Any]) -> None:
    """Refuse an entry with a path that leaves the root. What is no path at all is ``checking``'s to find."""
    paths = [entry.get("path"), entry.get("skillFile")]
    for key in ("scripts", "artifacts"):
        if isinstance(values := entry.get(key), list):
            paths += values
    for relative in paths:
        if isinstance(relative, str) and leaves(relative):
            raise _outside(registry, entry.get("id"), relative)


def leaves(relative: str) -> bool:
    """Whether a path of an entry leads out of the root by its text alone, whatever the file system says."""
    normal = posixpath.normpath(relative)
    return normal.startswith(("/", "../")) or normal == ".." or "\0" in relative


def read_file(path: str, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a regular file. Raises ``OSError`` (with words in ``strerror``) for everything else, and above ``limit``."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for its other end
        raise OSError(errno.EINVAL, "it is no file", path)
    with open(path, "rb") as file:
        content = file.read(min(status.st_size, limit) + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit} bytes", path)
    return content


def _read(path: str, source: str) -> bytes:
    try:
        return read_file(path, MAX_BYTES)
    except OSError as exc:
        _refuse(path, source, exc.strerror or str(exc), cause=exc)
    except ValueError as exc:  # NUL and lone surrogates name no file
        _refuse(path, source, str(exc), cause=exc)


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
    except ValueError as exc:  # constants, and Python's limit on the digits of a number
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


def _outside(path: str, skill_id: object, relative: str) -> EngineError:
    named, where = _shown(str(skill_id)), _shown(relative)
    return EngineError(
        ErrorCode.REGISTRY_READ_FAILED,
        f"A path of skill {named} leaves the registry's folder: {where}",
        hint="Paths in a registry stay below the folder that holds skills/, symbolic links included.",
        details={"skillId": named, "path": where, "registryPath": path},
    )


# -- names


def nearest(skill_id: str, skills: Iterable[Mapping[str, Any]]) -> list[str]:
    """Ids that were probably meant, best first: those that hold the text, else the most similar ones."""
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
    """The pairs of neighbouring characters: how many two texts share says how alike they are, and thousands are quick."""
    folded = text.casefold()
    return {folded[at : at + 2] for at in range(len(folded) - 1)}


def _shown(text: str) -> str:
    """A foreign text as it may stand in a message: bounded, and encodable."""
    return text[:_LONGEST].encode("utf-8", "replace").decode()
