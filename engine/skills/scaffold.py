"""Create a new skill that validates and runs, with its registry entry (skills.md#writing-a-skill)."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import yaml

from clawperator.engine.contracts.issues import shown
from clawperator.engine.contracts.skill import Skill
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.lock import locked_folder
from clawperator.engine.guard import Guard
from clawperator.engine.skills.index import json_bytes, remove_files, write_file
from clawperator.engine.skills.registry import (
    BUILTIN,
    FOLDER,
    Registry,
    builtin_path,
    load_registry,
    open_registry,
    read_document,
)
from clawperator.engine.skills.validation import schema_problems

_LONGEST = 128
"""Of an id, which becomes the name of a folder."""
_EXECUTABLE = 0o755
_TEMPLATES = os.path.join(os.path.dirname(__file__), BUILTIN, "new-skill")
"""The files of a new skill; ``@word@`` is replaced. Its scripts find the command line as published skills do (cli.md#commands)."""
_RUNNERS = {"js": "node", "py": "python3"}
"""The interpreter that ``run.sh`` calls, for callers that start shell scripts only."""


def open_or_make(env: Mapping[str, str], explicit: str | None = None, *, guard: Guard) -> tuple[Registry, bool]:
    """Open the registry, or create an empty one below the current folder and return true if none is chosen or found.

    Raises ``REGISTRY_READ_FAILED``, and ``SKILLS_SCAFFOLD_FAILED`` if it cannot be written.
    """
    try:
        return open_registry(env, explicit), False
    except EngineError as exc:
        if "checked" not in exc.details:
            raise
        path = exc.details["checked"][0]
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    try:
        with guard.writing(path):
            write_file(path, json_bytes({"schemaVersion": "1.0", "generatedAt": now, "skills": []}), replace=False)
    except FileExistsError:  # another process was faster
        return load_registry(path, "cwd"), False
    except OSError as exc:
        raise EngineError(
            ErrorCode.SKILLS_SCAFFOLD_FAILED,
            f"The skills registry {path} could not be created: {exc.strerror or exc}",
            details={"path": path, "reason": exc.strerror or str(exc)},
        ) from exc
    return load_registry(path, "cwd"), True


def make_skill(
    env: Mapping[str, str],
    explicit: str | None,
    skill_id: str,
    *,
    guard: Guard,
    summary: str | None = None,
    lang: str = "js",
) -> dict[str, Any]:
    """Create a skill in the registry of ``open_or_make``; a new registry is removed again on failure."""
    _entry(skill_id, skill_id, lang)
    registry, created = open_or_make(env, explicit, guard=guard)
    try:
        made = new_skill(registry, skill_id, guard=guard, summary=summary, lang=lang)
    except BaseException:
        if created and not read_document(registry.path)["skills"]:
            remove_files([registry.path])
        raise
    return made | ({"registryCreated": True} if created else {})


def new_skill(
    registry: Registry, skill_id: str, *, guard: Guard, summary: str | None = None, lang: str = "js"
) -> dict[str, Any]:
    """Create the skill's folder, add it to the registry, and return the result of ``skills new``.

    A failure leaves nothing behind. Raises ``SKILL_ID_INVALID``, ``SKILL_ALREADY_EXISTS``, ``SKILLS_SCAFFOLD_FAILED``.
    """
    if registry.source == BUILTIN or registry.path == builtin_path():
        raise EngineError(
            ErrorCode.SKILLS_SCAFFOLD_FAILED,
            "The built-in skills are read-only",
            hint="Run `clawperator skills install`, or pass your own registry with --registry <file>.",
        )
    entry = _entry(skill_id, _one_line(summary or "") or f"TODO: describe {skill_id}", lang)
    folder = os.path.join(registry.root, *entry["path"].split("/"))
    if any(known.get("id") == skill_id for known in registry.skills) or os.path.lexists(folder):
        raise EngineError(ErrorCode.SKILL_ALREADY_EXISTS, f"Skill already exists: {skill_id}", details={"path": folder})
    registry.place(skill_id, FOLDER)
    files = _files(entry, lang)
    try:
        with guard.writing(folder):
            _make_folder(folder, files)
            try:
                _register(registry.path, entry)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    except OSError as exc:
        raise EngineError(
            ErrorCode.SKILLS_SCAFFOLD_FAILED,
            f"The skill could not be written: {exc.filename or folder}: {exc.strerror or exc}",
            details={"path": folder, "reason": exc.strerror or str(exc)},
        ) from exc
    return {
        "created": True,
        "skillId": skill_id,
        "registryPath": registry.path,
        "skillPath": folder,
        "files": [os.path.join(folder, name) for name in files],
        "next": f"Edit {entry['scripts'][0]}, then run `clawperator skills validate {skill_id}` and "
        f"`clawperator skills run {skill_id} --device-id <serial>`.",
    }


def _entry(skill_id: str, summary: str, lang: str) -> dict[str, Any]:
    application, dot, intent = skill_id.rpartition(".")
    path = f"{FOLDER}/{skill_id}"
    scripts = [] if lang == "sh" else [f"{path}/scripts/run.{lang}"]
    entry = {
        "id": skill_id,
        "applicationId": application,
        "intent": intent,
        "summary": summary,
        "path": path,
        "skillFile": f"{path}/SKILL.md",
        "scripts": [*scripts, f"{path}/scripts/run.sh"],
        "artifacts": [],
    }
    wrong = next(schema_problems(Skill, entry, skill_id, "$"), None)
    empty_part = not dot or "" in application.split(".")
    if empty_part or wrong is not None or len(skill_id) > _LONGEST:
        named = shown(skill_id, _LONGEST)
        reason = wrong.message if wrong is not None and not empty_part else "it must be <applicationId>.<intent>"
        raise EngineError(
            ErrorCode.SKILL_ID_INVALID,
            f"Invalid skill id: {named}",
            hint="Use an application id, a dot and an intent of a-z, 0-9 and hyphens, such as com.example.app.read-status.",
            details={"skillId": named, "reason": reason},
        )
    return entry


def _files(entry: dict[str, Any], lang: str) -> dict[str, bytes]:
    """Return the content of every file by its name in the skill's folder."""
    summary = entry["summary"]
    frontmatter = yaml.safe_dump({"name": entry["id"]}, allow_unicode=True) + f"description: >-\n  {summary}\n"
    words = {
        "id": entry["id"],
        "app": entry["applicationId"],
        "summary": summary,
        "frontmatter": frontmatter,
        "script": f"run.{lang}",
        "runner": _RUNNERS.get(lang, ""),
    }
    files = {
        "SKILL.md": _filled("SKILL.md", words),
        "skill.json": json_bytes(entry),
        f"scripts/run.{lang}": _filled(f"run.{lang}", words),
    }
    return files | ({"scripts/run.sh": _filled("wrapper.sh", words)} if lang in _RUNNERS else {})


def _one_line(text: str) -> str:
    """Return printable text on one line."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _filled(name: str, words: dict[str, str]) -> bytes:
    """Return a template, filled in in one pass, so that values are not expanded."""
    with open(os.path.join(_TEMPLATES, name), encoding="utf-8") as file:
        return re.sub(r"@([a-z]+)@", lambda match: words[match[1]], file.read()).encode()


def _make_folder(folder: str, files: dict[str, bytes]) -> None:
    """Create the files in a temporary folder and rename it. Raises ``OSError``."""
    draft = tempfile.mkdtemp(prefix=".new-", dir=os.path.dirname(folder))
    try:
        for name, content in files.items():
            path = os.path.join(draft, *name.split("/"))
            write_file(path, content)
            if name.startswith("scripts/"):
                os.chmod(path, _EXECUTABLE)
        os.chmod(draft, _EXECUTABLE)
        os.rename(draft, folder)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(draft)
        raise


def _register(path: str, entry: dict[str, Any]) -> None:
    """Add ``entry``, sorted by id, to the current registry; its other keys are kept. Raises ``OSError``."""
    with locked_folder(os.path.dirname(path)):
        document = read_document(path)
        others = [known for known in document["skills"] if known != entry]  # `skills index` may have found it already
        document["skills"] = sorted(
            [*others, entry], key=lambda known: str(known.get("id", "")) if isinstance(known, dict) else ""
        )
        write_file(path, json_bytes(document))
