"""Whatever the OpenAPI document allows, and what it does not, is answered as it says: schemathesis, with a device behind."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from tests.app.http.conftest import Serve

EXAMPLES = 12
LONGEST = 8_000
"""Characters of a text that Hypothesis generates, at most."""
LEFT_OUT = {"/events", "/android/provision/emulator"}
"""A stream has no end, and provisioning would look for an SDK on whoever's computer this is."""


@pytest.mark.ci
async def test_every_answer_is_one_that_is_documented(serve: Serve) -> None:
    served = await serve("--no-history", speed=0)
    document = (await served.client.get("/openapi.json")).json()
    for operations in document["paths"].values():
        for operation in operations.values():
            del operation["responses"]["default"]  # an answer has to be among those that are named
    drop_large_limits(document)
    tried = await asyncio.to_thread(try_all, document, served.url)
    assert len(tried) >= 20
    assert (await served.client.get("/healthz")).json()["ok"] is True
    assert not [line for line in served.errors if "Traceback" in line]


def drop_large_limits(schema: Any) -> None:
    """Remove limits of texts that Hypothesis cannot exceed: it gives up instead of trying something else."""
    if isinstance(schema, dict):
        if isinstance(schema.get("maxLength"), int) and schema["maxLength"] >= LONGEST:
            del schema["maxLength"]
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else ():
        drop_large_limits(inner)


def try_all(document: dict[str, Any], url: str) -> set[str]:
    import schemathesis  # half a second for every worker that only collects

    tried = set()
    schema: Any = schemathesis.openapi.from_dict(document)
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path in LEFT_OUT:
            continue
        tried.add(f"{operation.method} {operation.path}")
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            with contextlib.suppress(Unsatisfiable):  # what takes nothing cannot be asked wrongly
                try_one(operation, mode, url)
    return tried


def try_one(operation: Any, mode: Any, url: str) -> None:
    from schemathesis.specs.openapi import checks

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    def check(case: Any) -> None:
        case.call_and_validate(
            base_url=url,
            checks=[
                checks.status_code_conformance,
                checks.content_type_conformance,
                checks.response_schema_conformance,
            ],
        )

    check()
