"""Generate the registry and its indexes from the folders of the skills (skills.md#indexes).

The same folders and the same ``generatedAt`` give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from clawperator.engine.contracts.skill import zoned
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files import regular
from clawperator.engine.files.lock import locked_folder
from clawperator.engine.files.regular import read_file
from clawperator.engine.guard import Guard
from clawperator.engine.skills.registry import FILE, FOLDER, Registry, read_document
from clawperator.engine.skills.validation import SkillProblem, entry_problems, read_entry

SCHEMA_VERSION = "1.0"
GENERATED = f"{FOLDER}/generated"
REGISTRY = f"{FOLDER}/{FILE}"
MIN_INDEX = f"{GENERATED}/skills-index.min.json"
JSONL_INDEX = f"{GENERATED}/skills-index.jsonl"
MANIFEST = f"{GENERATED}/manifest.json"
BY_APP = f"{GENERATED}/by-app"
BY_PREFIX = f"{GENERATED}/by-prefix"
SKILL_JSON = "skill.json"
_COMPACT = ("id", "applicationId", "intent", "summary", "path")
_SOURCE_DATE_EPOCH = "SOURCE_DATE_EPOCH"


class Difference(NamedTuple):
    """A file of the index that is ``missing``, ``stale`` or ``unexpected``."""

    file: str
    kind: str


@dataclass(frozen=True, slots=True)
class Index:
    """The content of every file by its path below ``root``; the registry is last, so that it is written after the others."""

    root: str
    generated_at: str
    count: int
    files: Mapping[str, bytes]

    def to_dict(self) -> dict[str, Any]:
        return {
            "ok": True,
            "registryPath": os.path.join(self.root, REGISTRY),
            "count": self.count,
            "generatedAt": self.generated_at,
            "files": sorted(self.files),
        }


def chosen_time(text: str | None, env: Mapping[str, str]) -> str | None:
    """Return the requested ``generatedAt``: ``text``, else ``SOURCE_DATE_EPOCH`` (seconds), else ``None``.

    Raises ``USAGE`` for a time that is invalid or has no zone.
    """
    seconds = env.get(_SOURCE_DATE_EPOCH, "")
    try:
        if text is not None:
            return zoned(text)
        return _iso(datetime.fromtimestamp(int(seconds), UTC)) if seconds else None
    except (ValueError, OverflowError, OSError) as exc:
        named = "--generated-at" if text is not None else _SOURCE_DATE_EPOCH
        raise EngineError(
            ErrorCode.USAGE,
            f"Invalid {named}: {exc}",
            hint="Pass --generated-at as 2026-03-01T00:00:00Z; SOURCE_DATE_EPOCH is in seconds.",
        ) from exc


def build_index(root: str, *, generated_at: str | None = None) -> Index:
    """Return the index. Without ``generated_at`` the time changes only if the skills do.

    Raises ``SKILL_VALIDATION_FAILED`` with ``details.problems`` for an invalid ``skill.json``.
    """
    present = _present(root)
    skills = _collected(root)
    if generated_at is None:
        same = present.get("skills") == skills and isinstance(present.get("generatedAt"), str)
        generated_at = present["generatedAt"] if same else _iso(datetime.now(UTC))
    return _index(root, present, skills, generated_at)


def check_index(root: str, *, generated_at: str | None = None) -> tuple[Difference, ...]:
    """Return how the files differ from those that ``write_index`` would write with the registry's ``generatedAt``."""
    present = _present(root)
    recorded = present.get("generatedAt")
    at = generated_at or (recorded if isinstance(recorded, str) else _iso(datetime.now(UTC)))
    index = _index(root, present, _collected(root), at)
    found = [Difference(file, "unexpected") for file in _leftovers(index)]
    for file, content in index.files.items():
        try:
            if read_file(os.path.join(root, file), len(content)) != content:
                found.append(Difference(file, "stale"))
        except FileNotFoundError:
            found.append(Difference(file, "missing"))
        except OSError:  # larger, or not a regular file
            found.append(Difference(file, "stale"))
    return tuple(sorted(found))


def write_index(root: str, *, guard: Guard, generated_at: str | None = None) -> Index:
    """Write the registry and its indexes, and remove obsolete shards.

    Raises ``SKILL_VALIDATION_FAILED``; ``REGISTRY_READ_FAILED`` if a file cannot be written or the index folder is outside of
    the root.
    """
    registry = Registry(os.path.join(root, REGISTRY), root, (), "")
    for folder in (GENERATED, BY_APP, BY_PREFIX):
        registry.place(folder, folder)
    try:
        with guard.writing(registry.path), locked_folder(os.path.dirname(registry.path)):
            index = build_index(root, generated_at=generated_at)
            for file, content in index.files.items():
                write_file(os.path.join(root, file), content)
            remove_files(os.path.join(root, file) for file in _leftovers(index))
    except OSError as exc:
        where = exc.filename or root
        raise EngineError(
            ErrorCode.REGISTRY_READ_FAILED,
            f"The index cannot be written: {where}: {exc.strerror or exc}",
            hint="Check the permissions of the folder and the free disk space.",
            details={"path": str(where), "reason": exc.strerror or str(exc)},
        ) from exc
    return index


# -- reading the folders


def _present(root: str) -> dict[str, Any]:
    """Return the existing registry, or ``{}``."""
    path = os.path.join(root, REGISTRY)
    return read_document(path) if os.path.lexists(path) else {}


def _collected(root: str) -> list[dict[str, Any]]:
    """Return every ``skill.json`` below ``skills/``, sorted by id; does not follow links."""
    problems: list[SkillProblem] = []
    skills: list[dict[str, Any]] = []
    for folder in skill_folders(root):
        file = f"{folder}/{SKILL_JSON}"
        entry = read_entry(os.path.join(root, file), problems, file)
        if entry is not None:
            found = [*entry_problems(entry, file, "$"), *_file_problems(root, folder, entry)]
            problems += found
            skills += [] if found else [entry]
    skills.sort(key=lambda entry: str(entry["id"]))
    problems += _duplicates(skills)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        first = problems[0]
        raise EngineError(
            ErrorCode.SKILL_VALIDATION_FAILED,
            f"{first.file}: {first.path}: {first.message}{more}",
            details={"problems": [problem._asdict() for problem in problems]},
        )
    return skills


def skill_folders(root: str) -> Iterator[str]:
    """Yield the folders of skills, registered or not, relative to ``root``."""
    top = os.path.join(root, FOLDER)
    for folder, below, files in os.walk(top):
        relative = os.path.relpath(folder, root).replace(os.sep, "/")
        below[:] = sorted(name for name in below if not name.startswith(".") and f"{relative}/{name}" != GENERATED)
        if SKILL_JSON in files:
            yield relative


def _file_problems(root: str, folder: str, entry: Mapping[str, Any]) -> Iterator[SkillProblem]:
    """Yield a problem for a wrong ``path``, and for each file that is missing or outside of the root."""
    file = f"{folder}/{SKILL_JSON}"
    if entry.get("path") != folder:
        yield SkillProblem(file, "$.path", f"should be {folder}")
    guard = Registry(os.path.join(root, REGISTRY), root, (), "")
    named = [("$.skillFile", entry.get("skillFile"))]
    for key in ("scripts", "artifacts"):
        values = entry.get(key)
        named += [(f"$.{key}[{at}]", value) for at, value in enumerate(values if isinstance(values, list) else ())]
    for pointer, relative in named:
        if not isinstance(relative, str):
            continue  # reported by the schema
        try:
            if not os.path.isfile(guard.place(str(entry.get("id")), relative)):
                yield SkillProblem(file, pointer, f"the file {relative[:200]} is missing")
        except EngineError as exc:
            yield SkillProblem(file, pointer, exc.message)


def _duplicates(skills: Sequence[Mapping[str, Any]]) -> Iterator[SkillProblem]:
    for one, other in pairwise(skills):
        if one["id"] == other["id"]:
            yield SkillProblem(f"{other['path']}/{SKILL_JSON}", "$.id", f"{one['path']} also has the id {one['id']}")


# -- the files


def _index(root: str, present: Mapping[str, Any], skills: Sequence[Mapping[str, Any]], at: str) -> Index:
    compact = [{key: entry[key] for key in _COMPACT} for entry in skills]
    head = {"schemaVersion": SCHEMA_VERSION, "generatedAt": at}
    kept = {key: value for key, value in present.items() if key != "skills"}
    registry = json_bytes({**kept, **head, "skills": skills})
    shards: dict[str, list[dict[str, Any]]] = {"byApp": [], "byPrefix": []}
    files: dict[str, bytes] = {
        MIN_INDEX: _dense({**head, "count": len(compact), "skills": compact}),
        JSONL_INDEX: b"".join(map(_dense, compact)),
    }
    for kind, folder, key, groups in (
        ("byApp", BY_APP, "applicationId", _grouped(compact, lambda entry: str(entry["applicationId"]))),
        ("byPrefix", BY_PREFIX, "prefix", _grouped(compact, lambda entry: _prefix(str(entry["id"])))),
    ):
        for name, group in groups.items():
            file = f"{folder}/{name}.json"
            files[file] = json_bytes({**head, key: name, "count": len(group), "skills": group})
            shards[kind].append({key: name, **_facts(file, files[file], len(group))})
    whole = (("registry", REGISTRY, registry), ("minIndex", MIN_INDEX, files[MIN_INDEX]))
    artifacts = {name: _facts(file, content, len(skills)) for name, file, content in whole}
    artifacts["jsonlIndex"] = _facts(JSONL_INDEX, files[JSONL_INDEX], len(skills))
    files[MANIFEST] = json_bytes({**head, "totalSkills": len(skills), "artifacts": artifacts, "shards": shards})
    files[REGISTRY] = registry
    return Index(root, at, len(skills), files)


def _grouped(
    entries: Iterable[Mapping[str, Any]], name: Callable[[Mapping[str, Any]], str]
) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for entry in entries:
        groups[name(entry)].append(entry)
    return dict(sorted(groups.items()))


def _prefix(skill_id: str) -> str:
    """Return the shard of an id; SHA-1 only distributes the names."""
    return hashlib.sha1(skill_id.encode(), usedforsecurity=False).hexdigest()[:2]


def _facts(file: str, content: bytes, count: int) -> dict[str, Any]:
    return {"file": file, "sha256": hashlib.sha256(content).hexdigest(), "count": count}


def _dense(value: Mapping[str, Any]) -> bytes:
    return json_bytes(value, dense=True)


def _leftovers(index: Index) -> list[str]:
    """Return shards that are not in the index; other files are kept."""
    found = []
    for folder in (BY_APP, BY_PREFIX):
        place = os.path.join(index.root, folder)
        names = os.listdir(place) if os.path.isdir(place) and not os.path.islink(place) else ()
        found += [f"{folder}/{name}" for name in names if name.endswith(".json")]
    return sorted(file for file in found if file not in index.files)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def json_bytes(value: Mapping[str, Any], *, dense: bool = False) -> bytes:
    """Return JSON with two spaces of indent and a final newline; ``dense``: on one line, without blanks.

    A value with half of a surrogate pair, which UTF-8 cannot encode, is written with escapes.
    """
    form: dict[str, Any] = {"separators": (",", ":")} if dense else {"indent": 2}
    try:
        return f"{json.dumps(value, ensure_ascii=False, **form)}\n".encode()
    except UnicodeEncodeError:
        return f"{json.dumps(value, **form)}\n".encode()


def write_file(path: str, content: bytes, *, replace: bool = True) -> None:
    """Replace the file at ``path`` atomically, keeping its mode; creates folders. Raises ``OSError``."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    regular.write_file(path, content, replace=replace, mode=None)


def remove_files(paths: Iterable[str]) -> None:
    """Remove files that exist. Raises ``OSError``."""
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)
