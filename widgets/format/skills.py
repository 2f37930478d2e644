"""Skills as rows: in the list, in full, and lint findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clawperator.engine.skills.describe import (
    SkillArtifact,
    SkillDetails,
    SkillEntry,
    SkillInput,
    SkillIssue,
    base_name,
)
from clawperator.widgets.format.jobs import problem_rows
from clawperator.widgets.format.lines import Line, Row, ruled, wrapped
from clawperator.widgets.format.markdown import markdown_rows
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.skills import BUILTIN, LastResult, SkillsState, required_first
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells, escape, shorten
from clawperator.widgets.text.times import WallClock, age

if TYPE_CHECKING:
    from clawperator.engine.skills.lint import Finding

SEVERITIES = {"error": Status.FAILED, "warning": Status.WARN, "info": Status.IDLE}
SOURCES = {
    "flag": "from --skills-registry",
    "env": "from CLAWPERATOR_SKILLS_REGISTRY",
    "cwd": "from this folder",
    "installed": "installed",
    BUILTIN: "built-in skills",
}
"""Where the registry was chosen."""
_HEAD = 12
"""Column of the values."""
_WITH_SUMMARY = 64
"""From this width on, a list row has the summary too."""


# -- the list


def skill_row(skill: SkillEntry, result: LastResult | None, now: float, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return its id, its last result, and the summary where there is room."""
    right = result_words(result, now, symbols)
    line = Line(width - right.cells - 1).add(" ")
    wide = width >= _WITH_SUMMARY
    room = min(line.width - line.cells, 40 if wide else line.width)
    _add_id(line, skill, room)
    if wide and skill.summary and line.width - 44 >= 12:
        line.pad(43).device(skill.summary, "muted")
    return Row(line, right)


def _add_id(line: Line, skill: SkillEntry, room: int) -> None:
    """Append ``com.example.app.read-price``; where it does not fit, the app's name is cut."""
    prefix = f"{skill.app}."
    if not skill.app or not skill.id.startswith(prefix):
        line.device(skill.id, "strong", room=room)
        return
    intent = shorten(skill.id[len(prefix) :], room)
    left = room - cells(intent)
    app = escape(prefix[:300])
    if cells(app) > left:
        app = _end_of(app, left)
    line.add(app, "muted").add(intent, "strong")


def _end_of(text: str, room: int) -> str:
    """Return the last ``room`` cells of safe text behind an ellipsis."""
    if room < 2:
        return ""
    while text and cells(text) > room - 1:
        text = text[1:]
    return f"…{text}"


def result_words(result: LastResult | None, now: float, symbols: Symbols = UNICODE) -> Line:
    """Return ``✓ 2 h``, ``✗ 3 d``, ``– never``."""
    if result is None:
        return Line().add(f"{symbols.sign(Status.SKIPPED)} never ", "faint")
    line = Line().add(f"{symbols.sign(result.status)} ", result.status.role)
    if result.status is Status.RUNNING:
        return line.add("running ", "run")
    return line.add(f"{ago(now - result.at) if not math.isnan(result.at) else '?'} ", "muted")


def ago(seconds: float) -> str:
    """As ``age``, in days from 48 hours on."""
    return age(seconds) if seconds < 48 * 3600 else f"{int(seconds // 86_400)} d"


# -- one skill in full


def card_rows(
    skill: SkillEntry, shelf: SkillsState, clock: WallClock, width: int, symbols: Symbols = UNICODE
) -> Iterator[Row]:
    """Yield the skill in full: inputs, policy, files, lint, SKILL.md."""
    card = shelf.card if shelf.card is not None and shelf.card.skill_id == skill.id else None
    right = result_words(shelf.results.get(skill.id), clock.now(), symbols)
    head = Line(width - right.cells - 1).add(" ").device(skill.id, "strong")
    yield Row(head, right)
    yield from wrapped(skill.summary, width, limit=4)
    yield Row(Line(width))
    yield from _fact("app", skill.app or "unknown", width)
    yield from _fact("registry", SOURCES.get(shelf.source, shelf.source), width)
    if card is None:
        yield Row(Line(width).add(" Reading files…", "muted"))
        return
    yield from _inputs(skill, card, width, symbols)
    yield from _policy(card, width, symbols)
    yield from _made_of(skill, card, width, symbols)
    yield from _lint(card, shelf.checking == skill.id, width, symbols)
    yield Row(Line(width))
    yield ruled("SKILL.md", width, symbols.rule)
    if card.text_problem:
        yield from wrapped(card.text_problem, width - 1, "fail", lead=" ", limit=6)
    else:
        yield from markdown_rows(card.text, width)


def _fact(name: str, value: str, width: int, role: str = "text") -> Iterator[Row]:
    return wrapped(value, width - 1, role, lead=f" {name}".ljust(_HEAD), limit=3)


def _inputs(skill: SkillEntry, card: SkillDetails, width: int, symbols: Symbols) -> Iterator[Row]:
    fields = required_first(card.inputs or skill.inputs)
    yield Row(Line(width))
    if not fields:
        yield from _fact("inputs", "none", width, "muted")
        return
    yield Row(Line(width).add(" inputs", "faint"))
    for item in fields:
        yield Row(field_line(item, width, symbols))


def field_line(item: SkillInput, width: int, symbols: Symbols = UNICODE) -> Line:
    """Return ``item_name*  string  personal``; the star marks a required input."""
    line = Line(width).add("   ").device(item.name, "strong", room=28).add("*" if item.required else "", "warn")
    line.pad(24).add(" ")
    if item.values:
        line.device(f" {symbols.separator} ".join(item.values), "muted", room=max(8, width - line.cells - 20))
    else:
        line.device(item.type, "muted", room=12)
    if item.default:
        line.add(" = ", "faint").device("…" if item.personal else item.default, "text", room=20)
    if item.personal:
        line.add("  personal", "warn")
    return line.device(item.help, "faint", before="  ") if item.help else line


def _policy(card: SkillDetails, width: int, symbols: Symbols) -> Iterator[Row]:
    """Yield the capabilities and whether the policy allows them."""
    if card.policy_trouble is not None:
        yield from _fact("policy", "all denied", width, "fail")
        yield from _trouble(card.policy_trouble, width, symbols)
        return
    if not card.rulings:
        words = "unknown before it runs" if not card.artifacts else "no capabilities needed"
        yield from _fact("policy", words, width, "muted")
        return
    right = Line().device(f"profile {card.profile} ", "faint", room=24) if card.profile else Line()
    line = Line(width - right.cells - 1).add(" policy".ljust(_HEAD), "faint")
    line.extend(verdict_line(card, symbols))
    yield Row(line, right)
    line = Line(width).add("  ")
    for ruling in card.rulings:
        status = Status.OK if ruling.allowed else Status.FAILED
        word = Line(width - 6).add(" ").add(f"{symbols.sign(status)} ", status.role)
        word.device(ruling.name, "text" if ruling.allowed else "fail", room=max(10, width - 8)).add(" ")
        if line.cells + word.cells > width - 1:
            yield Row(line)
            line = Line(width).add("  ")
        line.extend(word)
    yield Row(line)


def verdict_line(card: SkillDetails, symbols: Symbols = UNICODE) -> Line:
    """Return ``✓ allowed`` or ``✗ denied: …``."""
    if card.policy_trouble is not None:
        return Line().add(f"{symbols.sign(Status.FAILED)} all denied", "fail")
    denied = card.denied
    if denied:
        words = f"{symbols.sign(Status.FAILED)} denied: "
        return Line().add(words, "fail").device(", ".join(ruling.name for ruling in denied), "fail", room=40)
    return Line().add(f"{symbols.sign(Status.OK)} allowed", "ok")


def _made_of(skill: SkillEntry, card: SkillDetails, width: int, symbols: Symbols) -> Iterator[Row]:
    yield Row(Line(width))
    yield from _fact("scripts", ", ".join(map(base_name, skill.scripts)) or "none", width)
    if not card.artifacts:
        yield from _fact("artifacts", "none", width, "muted")
    for index, artifact in enumerate(card.artifacts):
        yield artifact_row(artifact, "" if index else "artifacts", width, symbols)
        if artifact.trouble is not None:
            yield from _trouble(artifact.trouble, width, symbols, indent=_HEAD)


def artifact_row(artifact: SkillArtifact, name: str, width: int, symbols: Symbols = UNICODE) -> Row:
    status = Status.FAILED if artifact.trouble is not None else Status.OK
    line = Line(width).add(f" {name}".ljust(_HEAD), "faint").add(f"{symbols.sign(status)} ", status.role)
    line.device(artifact.name, "text", room=max(16, width - line.cells - 24))
    return Row(line.device(artifact.about, "muted", before="  "))


def _trouble(trouble: SkillIssue, width: int, symbols: Symbols, *, indent: int = 1) -> Iterator[Row]:
    """Yield where it is, the message, and the hint."""
    yield from wrapped(f"{place_words(trouble)}{trouble.message}", width - 1, "fail", lead=" " * indent, limit=6)
    if trouble.code:
        yield Row(Line(width).add(" " * indent).device(trouble.code, "warn"))
    lead = " " * indent + f"{symbols.arrow} "
    yield from wrapped(trouble.hint, width, "muted", lead=lead, lead_role="key", limit=4)


def place_words(trouble: SkillIssue) -> str:
    """Return ``price.recipe.md:12: `` where it is known."""
    if not trouble.file:
        return ""
    line = f":{trouble.line}" if trouble.line else ""
    return f"{base_name(trouble.file)}{line}: "


def trouble_rows(trouble: SkillIssue, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield a problem on its own: the message, the code with its meaning, the hint."""
    lead = f" {symbols.sign(Status.FAILED)} "
    yield from wrapped(f"{place_words(trouble)}{trouble.message}", width, lead=lead, lead_role="fail", limit=8)
    yield from problem_rows(trouble.code, trouble.hint, width, symbols)


def _lint(card: SkillDetails, checking: bool, width: int, symbols: Symbols) -> Iterator[Row]:
    line = Line(width).add(" lint".ljust(_HEAD), "faint")
    if checking:
        yield Row(line.add("checking…", "muted"))
        return
    yield Row(line.extend(tally(card, symbols)))


def tally(card: SkillDetails, symbols: Symbols = UNICODE) -> Line:
    """Return ``✓ no findings`` or ``1 ✗  2 !``; ``v lint`` before the first check."""
    if card.trouble is not None:
        return Line().add(f"{symbols.sign(Status.FAILED)} ", "fail").device(card.trouble.message, "fail", room=60)
    if card.findings is None:
        return Line().add("v", "key").add(" lint", "muted")
    if not card.findings:
        return Line().add(f"{symbols.sign(Status.OK)} no findings", "ok")
    line = Line()
    for severity, status in SEVERITIES.items():
        if count := card.count(severity):
            name = severity if count == 1 or severity == "info" else f"{severity}s"
            line.add(f"{symbols.sign(status)} {count} {name}  ", status.role)
    return line


# -- what lint found


def findings_rows(findings: Sequence[Finding], width: int, symbols: Symbols = UNICODE) -> Iterator[tuple[Row, int]]:
    """Yield rows, the first of each finding with its index, the others with -1."""
    file = None
    for number, finding in enumerate(findings):
        if finding.file != file:
            file = finding.file
            yield Row(Line(width).add(" ").device(file or "the skill", "accent")), -1
        status = SEVERITIES.get(finding.severity, Status.UNKNOWN)
        line = Line(width).add(f" {symbols.sign(status)} ", status.role)
        line.add(f"{finding.line or '':>4} ", "faint")
        yield Row(line.device(finding.code, status.role if status is not Status.IDLE else "muted")), number
        yield from ((row, -1) for row in wrapped(finding.message, width, lead=" " * 8, limit=6))


def finding_text(finding: Finding) -> str:
    """Return a finding as ``skills lint`` prints it."""
    return f"{finding.file}:{finding.line}: {finding.severity} {finding.code} {finding.message}"


# -- small screens


def summary_line(skill: SkillEntry | None, shelf: SkillsState, width: int, symbols: Symbols = UNICODE) -> Line:
    """Return inputs and policy verdict of the selected skill, for small screens."""
    line = Line(width).add(" ")
    if skill is None:
        return line
    card = shelf.card if shelf.card is not None and shelf.card.skill_id == skill.id else None
    if card is None:
        return line.add("reading files…", "muted")
    line.add("inputs: ", "faint")
    fields = required_first(card.inputs or skill.inputs)
    names = ", ".join(f"{item.name}{'*' if item.required else ''}" for item in fields)
    line.device(names or "none", "text" if fields else "muted", room=max(8, width - 36))
    line.add("   policy ", "faint")
    return line.extend(verdict_line(card, symbols) if card.rulings or card.policy_trouble else Line().add("?", "muted"))
