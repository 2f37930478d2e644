"""``skills install|update|sync`` in ``--output pretty``: where the skills are now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import FAINT, GOOD, UNSURE, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType


def synced(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    verdict = ("offline", UNSURE) if data.get("offline") else ("in sync", GOOD)
    yield Text.assemble(verdict, f"  {visible(data['message'])}")
    yield safe_text(f"  {data['registryPath']}", FAINT)
    for warning in data.get("warnings", ()):
        yield safe_text(f"  {warning['message']}", UNSURE)
    if data.get("envInstruction"):
        yield safe_text(
            f"  Clawperator commands find it automatically. For other programs: {data['envInstruction']}", FAINT
        )
