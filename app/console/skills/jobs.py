"""The console's access to the engine's skills. It knows no widget.

Functions may block: the controller calls them in a thread, except for coroutines.
"""

from __future__ import annotations

import json
import os
import site
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from clawperator.app.console.file_watch import file_signs, folders_of
from clawperator.app.console.skills.run_options import COMPILED, Plan, RunOption, variables_text
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import open_regular
from clawperator.engine.filters.grammar import NO_FILTER
from clawperator.engine.progress import OnProgress
from clawperator.widgets.models.skill_runs import Printed
from clawperator.widgets.models.skills import (
    LastResult,
    PolicyDecision,
    SkillArtifact,
    SkillDetails,
    SkillEntry,
    SkillInput,
    SkillIssue,
)
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.config.policy import Profile
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.facade import Engine
    from clawperator.engine.skills.artifact_run import ArtifactReport
    from clawperator.engine.skills.compiled import Compiled
    from clawperator.engine.skills.lint import Finding
    from clawperator.engine.skills.registry import Registry
    from clawperator.engine.skills.run import SkillRun
    from clawperator.engine.skills.sync import SyncResult

TEXT_KEPT = 256 * 1024
"""Bytes of a file that are read: a recipe may not have more."""
_RUNS_READ = 1_000
_NOT_FOR_A_DEMO = ("CLAWPERATOR_", "ANDROID_", "ADB_", "XDG_")


class LoadedRegistry(NamedTuple):
    """A registry; ``trouble`` says why it is not the expected one."""

    registry: Registry
    skills: tuple[SkillEntry, ...]
    commit: str = ""
    trouble: SkillIssue | None = None


class SkillLibrary(Protocol):
    """What the controller needs. Raises ``EngineError``."""

    def find(self) -> LoadedRegistry: ...
    def places(self, skill_id: str) -> Sequence[str]: ...
    def signs(self, skill_id: str) -> Hashable: ...
    def card(self, registry: Registry, skill: SkillEntry) -> SkillDetails: ...
    def findings(self, registry: Registry, skill_id: str) -> tuple[Finding, ...]: ...
    def compile(self, registry: Registry, skill_id: str, option: RunOption, values: Mapping[str, str]) -> Plan: ...
    async def run(
        self,
        registry: Registry,
        skill_id: str,
        args: Sequence[str],
        device_id: str,
        on_line: Callable[[Printed], object],
    ) -> SkillRun: ...
    async def run_artifact(
        self, compiled: Compiled, device_id: str, on_event: Callable[[Mapping[str, Any]], object]
    ) -> ArtifactReport: ...
    async def sync(self, ref: str, on_progress: OnProgress) -> SyncResult: ...
    async def results(self, skill_ids: frozenset[str]) -> Mapping[str, LastResult]: ...
    def compiled(self, plan: Plan, error: EngineError | None = None) -> None: ...


class EngineSkillLibrary:
    """``SkillLibrary`` over an engine. ``demo``: the built-in skills on simulated devices.

    Without ``engine``, skills can be read and compiled but not run.
    """

    def __init__(self, engine: Engine | None, settings: Settings, *, demo: bool = False) -> None:
        self._engine = engine
        self._demo = demo
        self._settings = replace(settings, environment=_environment(settings, demo=demo))

    # -- finding

    def _place(self) -> tuple[str, str]:
        from clawperator.engine.skills.registry import BUILTIN, builtin_path, find_registry

        if self._demo:
            return builtin_path(), BUILTIN
        return find_registry(self._settings.environment)

    def find(self) -> LoadedRegistry:
        """Load the registry; without one, the built-in skills and the reason."""
        from clawperator.engine.skills.registry import BUILTIN, builtin_path, load_registry

        trouble = None
        try:
            path, source = self._place()
        except EngineError as exc:
            if "checked" not in exc.details:
                raise
            path, source = builtin_path(), BUILTIN
            trouble = SkillIssue(
                "No registry is installed.", exc.code.value, "Press U to fetch the repository's skills."
            )
        registry = load_registry(path, source)
        skills = tuple(SkillEntry.of(entry) for entry in registry.skills)
        return LoadedRegistry(registry, skills, commit_of(registry.root), trouble)

    def places(self, skill_id: str) -> Sequence[str]:
        """Return the folders to watch."""
        from clawperator.engine.skills.registry import installed_path, load_registry

        try:
            path, source = self._place()
        except EngineError:
            return [os.getcwd(), os.path.dirname(installed_path(self._settings.environment))]
        found = [os.path.dirname(path)]
        if skill_id:
            try:
                registry = load_registry(path, source)
                entry = registry.get(skill_id)
                found += folders_of(registry.place(skill_id, str(entry.get("path", ""))))
            except EngineError:
                pass
        return found

    def signs(self, skill_id: str) -> Hashable:
        try:
            path, source = self._place()
        except EngineError:
            return None
        return path, source, file_signs([path]), file_signs(self.places(skill_id)[1:])

    # -- one skill

    def card(self, registry: Registry, skill: SkillEntry) -> SkillDetails:
        """Return everything that a skill's files say; unreadable parts say why."""
        text, problem = _text_of(registry, skill)
        artifacts = tuple(_artifact(registry, skill, path) for path in skill.artifacts)
        profile, trouble = self._policy()
        rulings = tuple(_rulings(profile, skill, artifacts)) if profile is not None else ()
        return SkillDetails(
            skill_id=skill.id,
            text=text,
            text_problem=problem,
            artifacts=artifacts,
            rulings=rulings,
            profile=profile.name if profile is not None else "",
            policy_trouble=trouble,
        )

    def _policy(self) -> tuple[Profile | None, SkillIssue | None]:
        from clawperator.engine.config.active_profile import load_profile

        try:
            return load_profile(self._settings), None
        except EngineError as exc:
            return None, trouble_of(exc)

    def findings(self, registry: Registry, skill_id: str) -> tuple[Finding, ...]:
        from clawperator.engine.config.active_profile import load_profile
        from clawperator.engine.skills.blocked_terms import load_blocked
        from clawperator.engine.skills.lint import LintRules, lint_skill

        blocked = load_blocked(self._settings.environment)
        today = date.today()  # noqa: DTZ011 -- the author's own day
        try:
            return tuple(lint_skill(registry, skill_id, LintRules(today, load_profile(self._settings), blocked)))
        except OSError as exc:  # a file may be deleted meanwhile
            raise EngineError(ErrorCode.REGISTRY_READ_FAILED, f"{exc.filename}: {exc.strerror or exc}") from exc

    def compile(self, registry: Registry, skill_id: str, option: RunOption, values: Mapping[str, str]) -> Plan:
        from clawperator.engine.config.active_profile import load_profile
        from clawperator.engine.skills.artifact import compile_artifact

        profile = load_profile(self._settings)
        compiled = compile_artifact(
            registry, skill_id, option.artifact, variables_text(option, values), profile=profile
        )
        shown = {
            "executions": list(compiled.executions),
            "capabilities": list(compiled.capabilities),
            "warnings": [dict(warning) for warning in compiled.warnings],
        }
        return Plan(compiled, shown)

    # -- running

    async def run(
        self,
        registry: Registry,
        skill_id: str,
        args: Sequence[str],
        device_id: str,
        on_line: Callable[[Printed], object],
    ) -> SkillRun:
        from clawperator.engine.skills.run import run_skill

        engine = self._own_engine()
        return await run_skill(
            registry,
            skill_id,
            settings=replace(
                self._settings, backend=engine.settings.backend_of(device_id), allow_unbind=engine.settings.allow_unbind
            ),
            device_id=device_id or None,
            args=args,
            validate=True,
            on_line=on_line,
            guard=engine.guard,
            engine=engine,
        )

    async def run_artifact(
        self, compiled: Compiled, device_id: str, on_event: Callable[[Mapping[str, Any]], object]
    ) -> ArtifactReport:
        from clawperator.engine.skills.artifact_run import run_artifact

        return await run_artifact(self._own_engine(), compiled, device_id=device_id or None, on_event=on_event)

    def _own_engine(self) -> Engine:
        """Return the engine of this computer: a script calls the command line here."""
        if self._engine is None:
            raise EngineError(
                ErrorCode.NO_DEVICES,
                "Skills run on the computer that has the device, and this console has no engine of its own",
                hint="Run `clawperator skills run` there; i compiles an artifact into the draft here.",
            )
        return self._engine

    async def sync(self, ref: str, on_progress: OnProgress) -> SyncResult:
        from clawperator.engine.skills.sync import sync

        if self._demo:
            raise EngineError(
                ErrorCode.USAGE,
                "The demo has the built-in skills only",
                hint="Outside of it, `clawperator skills install` fetches those of the repository.",
            )
        return await sync(
            self._settings, ref=ref, on_progress=on_progress, guard=self._engine.guard if self._engine else None
        )

    async def results(self, skill_ids: frozenset[str]) -> Mapping[str, LastResult]:
        """Return how the newest execution of each skill ended, according to the history."""
        history = self._engine.history if self._engine is not None else None
        if history is None:
            return {}
        try:
            runs = await history.runs(NO_FILTER, limit=_RUNS_READ)
        except EngineError:
            return {}
        found: dict[str, LastResult] = {}
        for run in runs:
            if run.source in skill_ids and run.source not in found and run.status != "running":
                status = Status.OK if run.status == "success" else Status.FAILED
                found[run.source] = LastResult(status, run.started_at, run.code)
        return found

    def compiled(self, plan: Plan, error: EngineError | None = None) -> None:
        """Record for the audit that an artifact was compiled for use."""
        from clawperator.engine.history.audit_rows import compiling, write_audit

        made = plan.compiled
        row = compiling(
            skill_id=made.skill_id,
            artifact=made.artifact,
            execution=made.execution,
            recipe_id=str((made.recipe or {}).get("id", "")),
            error=error,
            face="console",
        )
        write_audit(self._settings, row)


def skill_library(engine: object, *, demo: bool) -> EngineSkillLibrary:
    """Return the skills of an engine, or of this computer where there is no device."""
    from clawperator.engine.config.settings import Settings

    settings = getattr(engine, "settings", None)
    if isinstance(settings, Settings):
        return EngineSkillLibrary(cast("Engine", engine), settings, demo=demo)
    return EngineSkillLibrary(None, Settings.resolve(), demo=demo)


def _environment(settings: Settings, *, demo: bool) -> Mapping[str, str]:
    """Return the environment of scripts. A demo's hides this computer's devices and records."""
    if not demo:
        return settings.environment
    own = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_FOR_A_DEMO)}
    home = os.path.dirname(settings.history_path)
    if not home:
        return {**own, **settings.environment}
    user_base = {"PYTHONUSERBASE": site.getuserbase()}  # packages of this user stay importable
    return {**own, **user_base, **settings.environment, "HOME": home}


def trouble_of(error: EngineError) -> SkillIssue:
    """Convert an error, with its place in a file and its input."""
    details = error.details
    line = details.get("line")
    return SkillIssue(
        error.message,
        error.code.value,
        error.hint or "",
        str(details.get("file") or ""),
        line if isinstance(line, int) else 0,
        str(details.get("input") or details.get("placeholder") or ""),
    )


def _text_of(registry: Registry, skill: SkillEntry) -> tuple[str, str]:
    """Return SKILL.md, and why it could not be read."""
    if not skill.skill_file:
        return "", "The registry lists no SKILL.md."
    try:
        return _read(registry, skill.id, skill.skill_file), ""
    except EngineError as exc:
        return "", exc.message


def _read(registry: Registry, skill_id: str, relative: str) -> str:
    """Return the beginning of a file of the registry."""
    path = registry.place(skill_id, relative)
    try:
        with open_regular(path) as file:
            return file.read(TEXT_KEPT).decode("utf-8-sig", "replace")
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise EngineError(ErrorCode.REGISTRY_READ_FAILED, f"{relative} cannot be read: {reason}") from exc


def _artifact(registry: Registry, skill: SkillEntry, path: str) -> SkillArtifact:
    from clawperator.engine.skills.artifact import describe_inputs

    name = path.rpartition("/")[2]
    if not path.lower().endswith(COMPILED):
        return SkillArtifact(name=name, about="not for compiling")
    try:
        inputs = tuple(
            SkillInput(one.name, one.type, one.required, _shown(one.default), tuple(map(str, one.values)), one.personal)
            for one in describe_inputs(registry, skill.id, name)
        )
        about, capabilities, app = _nature(registry, skill, path)
    except EngineError as exc:
        return SkillArtifact(name=name, trouble=trouble_of(exc))
    return SkillArtifact(name=name, about=about, inputs=inputs, capabilities=capabilities, app=app)


def _shown(default: object) -> str:
    if default is None:
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


def _nature(registry: Registry, skill: SkillEntry, path: str) -> tuple[str, tuple[str, ...], str]:
    """Return the kind of an artifact, its capabilities, and its app."""
    text = _read(registry, skill.id, path)
    if not path.endswith(".md"):
        return "template", tuple(_of_template(text)), skill.app
    from clawperator.engine.skills.recipe.rules import read_recipe
    from clawperator.engine.skills.recipe.source import read_source

    recipe = read_recipe(read_source(text, path))
    about = f"{recipe.recipe_type} {recipe.recipe_version}"
    return about, tuple(recipe.capabilities), recipe.application_id


def _of_template(text: str) -> Iterator[str]:
    """Yield the capabilities of a template's actions; before it is filled in it is not an execution."""
    from clawperator.engine.config.policy import CAPABILITIES, capabilities_of

    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    actions = document.get("actions") if isinstance(document, dict) else None
    needed: set[str] = set()
    for action in actions if isinstance(actions, list) else ():
        params = action.get("params") if isinstance(action, dict) else None
        if isinstance(action, dict):
            needed |= capabilities_of(str(action.get("type", "")), params if isinstance(params, dict) else {})
    yield from (name for name in CAPABILITIES if name in needed)


def _rulings(profile: Profile, skill: SkillEntry, artifacts: Sequence[SkillArtifact]) -> Iterator[PolicyDecision]:
    """Yield the policy's decisions on the capabilities and apps of the artifacts."""
    names = dict.fromkeys(name for artifact in artifacts for name in artifact.capabilities)
    yield from (PolicyDecision("capability", name, profile.allows_capability(name)) for name in names)
    apps = dict.fromkeys(app for app in (*(artifact.app for artifact in artifacts), skill.app) if app)
    yield from (PolicyDecision("package", app, profile.allows_package(app)) for app in apps)


def commit_of(root: str) -> str:
    """Return ``main @abc1234`` of a checkout, from its files; empty without one."""
    try:
        with open_regular(os.path.join(root, ".git", "HEAD")) as file:
            head = file.read(400).decode("ascii", "replace").strip()
    except OSError:
        return ""
    ref = head.removeprefix("ref: ")
    if ref == head:
        return f"@{head[:7]}"
    branch = ref.removeprefix("refs/heads/")
    return f"{branch} @{commit[:7]}" if (commit := _commit(root, ref)) else branch


def _commit(root: str, ref: str) -> str:
    if ".." in ref or ref.startswith("/"):
        return ""
    try:
        with open_regular(os.path.join(root, ".git", *ref.split("/"))) as file:
            return file.read(80).decode("ascii", "replace").strip()
    except OSError:
        pass
    try:
        with open_regular(os.path.join(root, ".git", "packed-refs")) as file:
            text = file.read(1_000_000).decode(errors="replace")
            found = (line.partition(" ") for line in text.splitlines())
            return next((commit for commit, _, name in found if name.strip() == ref), "")
    except OSError:
        return ""
