"""The console's access to the engine's skills. It knows no widget.

Functions may block: the controller calls them in a thread, except for coroutines.
"""

from __future__ import annotations

import os
import site
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clawperator.app.console.file_watch import file_signs, folders_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.filters.grammar import NO_FILTER
from clawperator.engine.progress import OnProgress
from clawperator.engine.skills.checkout import commit_of
from clawperator.engine.skills.describe import SkillDetails, SkillEntry, SkillIssue, describe
from clawperator.engine.skills.run_options import RunOption, variables_text
from clawperator.widgets.models.skills import LastResult
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.facade import Engine
    from clawperator.engine.skills.artifact_run import ArtifactReport
    from clawperator.engine.skills.compiled import Compiled
    from clawperator.engine.skills.lint import Finding
    from clawperator.engine.skills.registry import Registry
    from clawperator.engine.skills.run import OutputLine, SkillRun
    from clawperator.engine.skills.sync import SyncResult

_RUNS_READ = 1_000
_NOT_FOR_A_DEMO = ("CLAWPERATOR_", "ANDROID_", "ADB_", "XDG_")


class LoadedRegistry(NamedTuple):
    """A registry; ``trouble`` says why it is not the expected one."""

    registry: Registry
    skills: tuple[SkillEntry, ...]
    commit: str = ""
    trouble: SkillIssue | None = None


class SkillLibrary:
    """The skills of an engine. ``demo``: the built-in ones, on simulated devices.

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

    def places(self, registry: Registry | None, skill_id: str) -> Sequence[str]:
        """Return the folders to watch."""
        from clawperator.engine.skills.registry import installed_path

        try:
            found = [os.path.dirname(self._place()[0])]
        except EngineError:
            return [os.getcwd(), os.path.dirname(installed_path(self._settings.environment))]
        if registry is not None and skill_id:
            with suppress(EngineError):
                found += folders_of(registry.place(skill_id, registry.get(skill_id)["path"]))
        return found

    def signs(self, registry: Registry | None, skill_id: str) -> Hashable:
        try:
            path, source = self._place()
        except EngineError:
            return None
        return path, source, file_signs([path]), file_signs(self.places(registry, skill_id)[1:])

    # -- one skill

    def card(self, registry: Registry, skill: SkillEntry) -> SkillDetails:
        from clawperator.engine.config.active_profile import load_profile

        return describe(registry, skill, lambda: load_profile(self._settings))

    def findings(self, registry: Registry, skill_id: str) -> tuple[Finding, ...]:
        from clawperator.engine.skills.lint import LintRules, lint_skill

        try:
            return tuple(lint_skill(registry, skill_id, LintRules.of(self._settings)))
        except OSError as exc:  # a file may be deleted meanwhile
            raise EngineError(ErrorCode.REGISTRY_READ_FAILED, f"{exc.filename}: {exc.strerror or exc}") from exc

    def compile(self, registry: Registry, skill_id: str, option: RunOption, values: Mapping[str, str]) -> Compiled:
        from clawperator.engine.config.active_profile import load_profile
        from clawperator.engine.skills.artifact import compile_artifact

        given = variables_text(option, values)
        return compile_artifact(registry, skill_id, option.artifact, given, profile=load_profile(self._settings))

    # -- running

    async def run(
        self,
        registry: Registry,
        skill_id: str,
        args: Sequence[str],
        device_id: str,
        on_line: Callable[[OutputLine], object],
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

    def compiled(self, plan: Compiled) -> None:
        """Record for the audit that an artifact was compiled for use."""
        from clawperator.engine.history.audit_rows import compiling, write_audit

        row = compiling(
            skill_id=plan.skill_id,
            artifact=plan.artifact,
            execution=plan.execution,
            recipe_id=str((plan.recipe or {}).get("id", "")),
            face="console",
        )
        write_audit(self._settings, row)


def skill_library(engine: object, *, demo: bool) -> SkillLibrary:
    """Return the skills of an engine, or of this computer where there is no device."""
    from clawperator.engine.config.settings import Settings

    settings = getattr(engine, "settings", None)
    if isinstance(settings, Settings):
        return SkillLibrary(cast("Engine", engine), settings, demo=demo)
    return SkillLibrary(None, Settings.resolve(), demo=demo)


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
