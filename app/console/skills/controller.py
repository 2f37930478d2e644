"""Keeps the list of skills current, reads one of them in full, and runs one. It knows no widget.

The registry is read when the mode is first opened. One skill runs at a time, through all modes, until the console ends.
Its output goes into a ring; updates are posted ten times a second at most.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from clawperator.app.console.file_watch import changes
from clawperator.app.console.job_runner import JobRunner, Start
from clawperator.app.console.messages import NoticeUpdate, Update, ValueUpdate
from clawperator.app.console.skills.jobs import LoadedRegistry, SkillLibrary
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.describe import SkillDetails, SkillEntry, SkillIssue
from clawperator.engine.skills.run_options import RunOption, SkillRequest, command_words
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.skill_runs import OutputRing, SkillOutputLine, SkillRunState
from clawperator.widgets.models.skills import BUILTIN, LastResult, SkillsState
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.skill_form import hidden
from clawperator.widgets.text.times import WallClock, duration

if TYPE_CHECKING:
    from clawperator.engine.skills.artifact_run import ArtifactReport
    from clawperator.engine.skills.compiled import Compiled
    from clawperator.engine.skills.registry import Registry
    from clawperator.engine.skills.run import OutputLine

FLUSH_SECONDS = 0.1
"""Interval of updates while a skill prints."""
SCRIPT_SECONDS = 120.0
"""Time limit of a script (skills.md#running-a-script)."""
_WORST = {"error": Status.FAILED, "warning": Status.WARN}


class SkillsController:
    """``post`` takes updates, ``start`` runs jobs, ``follow`` keeps the tree fresh while a skill runs.

    ``follow(True)`` returns whether it switched follow mode on; then ``follow(False)`` is called at the end.
    """

    def __init__(
        self,
        library: SkillLibrary,
        post: Callable[[Update], object],
        clock: WallClock,
        start: Start,
        follow: Callable[[bool], bool],
    ) -> None:
        self._library = library
        self._post = post
        self._clock = clock
        self._start = start
        self._follow = follow
        self._state = SkillsState.EMPTY
        self._found: LoadedRegistry | None = None
        self._ended: dict[str, LastResult] = {}
        """Results of this session: more exact than the history's."""
        self._chosen = ""
        self._lint_wanted = False
        self._wanted = asyncio.Event()
        self._card_wanted = asyncio.Event()
        self._looking = False
        self._flushing: asyncio.TimerHandle | None = None
        self._numbers = 0
        self.given: dict[str, SkillRequest] = {}
        """The last inputs of each skill for its next form, without personal values."""
        self._runs = JobRunner("skill", start, clock, self._show_run, lambda notice: post(NoticeUpdate(notice)))
        self._sync = JobRunner("skills sync", start, clock, self._show_sync, lambda notice: post(NoticeUpdate(notice)))

    @property
    def skills_state(self) -> SkillsState:
        return self._state

    @property
    def run(self) -> SkillRunState | None:
        """The run that is active, or ended last."""
        return self._state.run

    @property
    def busy(self) -> bool:
        return self._runs.busy

    @property
    def syncing(self) -> Job | None:
        """The job that fetches skills, while it runs."""
        return self._sync.job if self._sync.busy else None

    # -- looking

    def begin(self) -> None:
        """Keep the list current from now on."""
        if not self._looking:
            self._looking = self._start("skills", self._watch())

    def look_again(self) -> None:
        """Read registry and details again."""
        self.begin()
        self._wanted.set()

    def look_at(self, skill_id: str) -> None:
        """Read this skill in full."""
        if skill_id != self._chosen:
            self._chosen = skill_id
            self._card_wanted.set()

    def lint(self) -> None:
        """Lint the selected skill."""
        if self._chosen:
            self._lint_wanted = True
            self._update(checking=self._chosen)
            self._card_wanted.set()

    async def _watch(self) -> None:
        seen = await asyncio.to_thread(self._signs)  # before the first query, so that later changes are detected
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_cards())
            group.create_task(self._watch_files(seen))
            while True:
                self._wanted.clear()
                await self._look()
                await self._wanted.wait()

    def _signs(self) -> Hashable:
        return self._chosen, self._library.signs(self._read, self._chosen)

    async def _watch_files(self, seen: object) -> None:
        try:
            watched = changes(lambda: self._library.places(self._read, self._chosen), self._signs, seen=seen)
            async with aclosing(watched) as changed:
                async for _ in changed:
                    self.look_again()
        except OSError as exc:
            words = f"Changes of skills are no longer detected: {exc}. Press r to refresh"
            self._post(NoticeUpdate(Notice(Status.WARN, words)))

    async def _look(self) -> None:
        """Read the registry; a broken one empties the list."""
        try:
            found = await asyncio.to_thread(self._library.find)
        except EngineError as exc:
            self._found = None
            self._update(skills=(), known=True, trouble=SkillIssue.of(exc), card=None)
            return
        same = found.skills == self._state.skills
        self._found = found
        self._update(
            skills=self._state.skills if same else found.skills,
            known=True,
            trouble=found.trouble,
            path=found.registry.path,
            source=found.registry.source,
            commit=found.commit,
        )
        await self._read_results()
        if self._chosen:
            self._card_wanted.set()

    async def _read_results(self) -> None:
        """Read the last result of each skill."""
        found = await self._library.results(frozenset(skill.id for skill in self._state.skills))
        results = {**found, **self._ended}
        if results != self._state.results:
            self._update(results=results)

    async def _read_cards(self) -> None:
        """Read the skill that was selected last; earlier ones are skipped."""
        while True:
            await self._card_wanted.wait()
            self._card_wanted.clear()
            found, chosen = self._found, self._chosen
            skill = self._state.skill(chosen)
            if found is None or skill is None:
                continue
            try:
                card = await asyncio.to_thread(self._library.card, found.registry, skill)
            except EngineError as exc:
                card = SkillDetails(skill_id=chosen, text_problem=exc.message)
            if chosen == self._chosen:
                before = self._state.card
                if before is not None and before.skill_id == chosen:
                    card = replace(card, findings=before.findings, trouble=before.trouble)
                self._update(card=card)
            if not self._card_wanted.is_set() or self._lint_wanted:
                await self._read_findings(found, card)

    async def _read_findings(self, found: LoadedRegistry, card: SkillDetails) -> None:
        asked, self._lint_wanted = self._lint_wanted, False
        try:
            findings = await asyncio.to_thread(self._library.findings, found.registry, card.skill_id)
        except EngineError as exc:
            card = replace(card, findings=None, trouble=SkillIssue.of(exc))
        else:
            card = replace(card, findings=findings, trouble=None)
        changes: dict[str, Any] = {"card": card} if card.skill_id == self._chosen else {}
        shown = self._state.checked
        if asked or (shown is not None and shown.skill_id == card.skill_id):
            changes["checked"] = card
        if asked:
            changes["checking"] = ""
            self._say_findings(card)
        if changes:
            self._update(**changes)

    def _say_findings(self, card: SkillDetails) -> None:
        name = sentence(card.skill_id)
        if card.trouble is not None:
            notice = Notice(Status.FAILED, f"{name} could not be checked: {card.trouble.message}", card.trouble.code)
        elif not card.findings:
            notice = Notice(Status.OK, f"{name} passes lint")
        else:
            counts = [(card.count(severity), severity) for severity in ("error", "warning", "info")]
            words = ", ".join(
                f"{count} {name}{'s' * (count != 1 and name != 'info')}" for count, name in counts if count
            )
            worst = next((status for severity, status in _WORST.items() if card.count(severity)), Status.IDLE)
            notice = Notice(worst, f"{name}: {words}")
        self._post(NoticeUpdate(notice))

    async def read_card(self, skill: SkillEntry) -> SkillDetails:
        """Return the details of a skill, read now."""
        return await asyncio.to_thread(self._library.card, self._registry.registry, skill)

    async def file_of(self, skill_id: str, relative: str) -> str:
        """Return the path of a skill's file. Raises ``EngineError`` where it is outside the registry."""
        return await asyncio.to_thread(self._registry.registry.place, skill_id, relative)

    @property
    def _read(self) -> Registry | None:
        """The registry as it was read last."""
        return self._found.registry if self._found is not None else None

    # -- compiling

    async def compile(self, skill_id: str, option: RunOption, values: Mapping[str, str]) -> Compiled:
        """Compile an artifact with these values. Raises ``EngineError``."""
        return await asyncio.to_thread(self._library.compile, self._registry.registry, skill_id, option, values)

    def compiled(self, plan: Compiled) -> None:
        """Record the use of a compiled artifact."""
        self._start("compiled", asyncio.to_thread(self._library.compiled, plan))

    @property
    def _registry(self) -> LoadedRegistry:
        if self._found is None:
            raise EngineError(ErrorCode.REGISTRY_READ_FAILED, "No registry is loaded")
        return self._found

    # -- running

    def start_run(self, request: SkillRequest, device_id: str) -> bool:
        """Run a confirmed request; return false while another skill runs."""
        if self.busy or self._found is None:
            return False
        self._numbers += 1
        public = {name: hidden(value, request.secrets) for name, value in request.values.items()}
        command = command_words(
            request.skill_id, request.option, public, device_id, builtin=self._state.source == BUILTIN
        )
        run = SkillRunState(
            number=self._numbers,
            subject=request.skill_id,
            kind=request.option.name,
            command=command,
            device_id=device_id,
            since=self._clock.now(),
            limit=SCRIPT_SECONDS if request.option.script else 0.0,
            output=OutputRing(),
        )
        name = sentence(request.skill_id)
        begun = self._runs.begin(
            run,
            name,
            lambda _progress: self._run(run, request),
            left=self._left,
            then=self._read_results,
            lead=f"{name}: ",
        )
        if begun:
            self.given[request.skill_id] = request._replace(
                values={n: v for n, v in request.values.items() if v not in request.secrets}, secrets=()
            )
        return begun

    def cancel(self) -> bool:
        """Cancel the run, else the sync; return whether there was one. Its cleanup can take a moment."""
        return self._runs.cancel() or self._sync.cancel()

    async def _left(self, run: Job) -> str:
        return f"Cancelled after {duration(run.seconds(self._clock.now()))}. Its actions until then are not undone."

    async def _run(self, run: SkillRunState, request: SkillRequest) -> str:
        """Run the script or play the recipe, and follow the tree meanwhile. Raises ``EngineError``."""
        following = self._follow(True)
        try:
            return await (self._script(request, run) if request.option.script else self._recipe(request, run))
        except EngineError as exc:
            self._report(run, exc.extra.get("skillResult"))
            exit_code = exc.extra.get("exitCode")
            self._runs.note(exit_code=exit_code if isinstance(exit_code, int) else None)
            raise
        finally:
            if following:
                self._follow(False)

    async def _script(self, request: SkillRequest, run: SkillRunState) -> str:
        ended = await self._library.run(
            self._registry.registry, request.skill_id, request.args, run.device_id, partial(self._printed, run)
        )
        self._report(run, ended.result)
        self._runs.note(exit_code=ended.exit_code)
        return f"done in {duration(ended.duration_ms / 1000)}"

    def _report(self, run: SkillRunState, result: Mapping[str, Any] | None) -> None:
        """Print the checkpoints and the result that a skill reported itself."""
        if result is None:
            return
        from clawperator.engine.skills.skill_result import result_rows

        points = (f"{point['status']} {point['id']}  {point.get('note') or ''}" for point in result["checkpoints"])
        rows = (
            f"{name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in result_rows(result)
        )
        for line in (*points, *rows):
            self._printed(run, SkillOutputLine("host", line.rstrip(), self._clock.now()))

    async def _recipe(self, request: SkillRequest, run: SkillRunState) -> str:
        assert request.plan is not None
        self.compiled(request.plan)
        report = await self._library.run_artifact(request.plan, run.device_id, partial(self._played, run))
        for line in _report_lines(report):
            self._printed(
                run, SkillOutputLine("host" if not line.startswith("RESULT|") else "stdout", line, self._clock.now())
            )
        if report.failed:
            error = report.errors[0]
            words, code = str(error.get("message", "It failed")), str(error.get("code", ""))
            known = ErrorCode.known(code)
            if known is None:
                raise EngineError(ErrorCode.SKILL_EXECUTION_FAILED, f"{words} ({code})" if code else words)
            raise EngineError(known, words, hint=known.hint)
        return f"done in {duration(report.duration_ms / 1000)}"

    def _played(self, run: SkillRunState, event: Mapping[str, Any]) -> None:
        """Print one event of a play."""
        command, count = str(event.get("commandId", "")), event.get("count", 1)
        which = f"execution {int(event.get('index', 0)) + 1} of {count}" if count != 1 else "execution"
        if event.get("event") == "play.execution":
            words = f"{which}: {event.get('actionCount', 0)} steps, {command}"
        else:
            words = f"{which}: {'ok' if event.get('succeeded') else 'failed'}"
        self._printed(run, SkillOutputLine("host", words, self._clock.now()))

    def _printed(self, run: SkillRunState, line: OutputLine | SkillOutputLine) -> None:
        run.output.add(line)
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def _flush(self) -> None:
        self._flushing = None
        if self.run is not None and self.run.printed != self.run.output.generation:
            self._runs.note(printed=self.run.output.generation)

    def _show_run(self, run: Job) -> None:
        assert isinstance(run, SkillRunState)
        changes: dict[str, Any] = {"run": run}
        if not run.running:
            if self._flushing is not None:
                self._flushing.cancel()
                self._flushing = None
            self._ended[run.subject] = LastResult(run.status, run.ended, run.code)
            changes["results"] = {**self._state.results, **self._ended}
        self._update(**changes)

    # -- fetching

    def sync(self, ref: str) -> bool:
        """Fetch the repository's skills at ``ref``; return false while that is running."""
        from clawperator.engine.skills.sync import STAGES

        job = Job.begun("fetching the skills at", ref, STAGES, self._clock.now())
        begun = self._sync.begin(
            job,
            "Fetching the skills",
            lambda on_progress: self._fetch(ref, on_progress),
            left=_nothing_left,
            then=self._afterwards,
        )
        if begun:
            self.begin()
        return begun

    async def _fetch(self, ref: str, on_progress: Any) -> str:
        return (await self._library.sync(ref, on_progress)).message

    async def _afterwards(self) -> None:
        self.look_again()

    def _show_sync(self, job: Job) -> None:
        self._update(sync=job)

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)
        self._post(ValueUpdate("skills", self._state))


async def _nothing_left(_job: Job) -> str:
    return "Cancelled. The skills are unchanged."


def _report_lines(report: ArtifactReport) -> list[str]:
    """Return the lines of a play's report: outputs, variance and warnings. Steps are in the stream."""
    outputs = [f"{name}={value}" for name, value in report.outputs.items()]
    lines = [f"RESULT|{'|'.join(outputs)}"] if outputs else []
    lines += [
        f"optional step {entry.get('stepId', '')}: expected {entry.get('expected')}, found {entry.get('found')}"
        for entry in report.variance
    ]
    lines += [f"warning: {warning.get('message', warning)}" for warning in report.warnings]
    return lines
