"""``skills lint|ci|install-hook`` in ``--output pretty``: findings as compilers write them, checks as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, safe_text, warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

_STYLES = {"error": BAD, "warning": UNSURE, "info": FAINT}


def lint(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for finding in data["findings"]:
        yield _finding(finding)
    counts = data["counts"]
    words = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in _plurals(counts) if count)
    yield safe_text(words or "nothing found", GOOD if data["ok"] else BAD)
    yield from warnings(data)


def skills_ci(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for check in data["checks"]:
        verdict = ("ok    ", GOOD) if check["ok"] else ("failed", BAD)
        yield Text.assemble(verdict, f"  {visible(check['id'])}  ", (visible(check["about"]), FAINT))
        for finding in check["findings"]:
            yield Text.assemble("        ", _finding(finding))
    yield safe_text(f"{data['skills']} skills in {data['registryPath']}", FAINT)


def hook_installed(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((visible(data["message"]), GOOD), f"  {visible(data['hookPath'])}")


def _plurals(counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    yield "error", counts["error"]
    yield "warning", counts["warning"]
    yield "remark", counts["info"]


def _finding(finding: Mapping[str, Any]) -> Text:
    place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
    return Text.assemble(
        f"{visible(place)}: ",
        (visible(finding["code"]), _STYLES.get(finding["severity"], "")),
        f" {visible(finding['message'])}",
    )
