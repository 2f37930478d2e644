"""``--output pretty``: a module per subject, with a drawing per document."""

from __future__ import annotations

import json
from importlib import import_module


def draw(view: str, data: object) -> bytes:
    """Return the drawing of ``data`` for stdout by ``view``: ``module.function`` of this package; without one, indented JSON."""
    from clawperator.app.cli.pretty.toolbox import render, safe_text

    module, _, name = view.partition(".")
    if module:
        return render(getattr(import_module(f"{__name__}.{module}"), name)(data))
    return render([safe_text(json.dumps(data, ensure_ascii=False, indent=2), lines=True)])
