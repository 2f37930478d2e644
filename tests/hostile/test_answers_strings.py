"""Hostile strings in the answers of the servers: the same data, and no character that hides or reorders."""

from __future__ import annotations

import json
from pathlib import Path

from clawperator.engine.history.store import History
from tests.app.http.conftest import Serve, serve
from tests.app.mcp.conftest import Visit, visit
from tests.hostile.strings import HOSTILE, steering
from tests.past_runs import a_run, put

__all__ = ["serve", "visit"]
TEXTS = [text for text in HOSTILE if not any("\ud800" <= each <= "\udfff" for each in text)]


async def test_http(serve: Serve, tmp_path: Path) -> None:
    with History.open(str(tmp_path / "state" / "clawperator" / "history.db")) as history:
        for number, text in enumerate(TEXTS, 1):
            put(history, a_run(number, task_id=text, source=text, package=text))
    served = await serve()
    listed = await served.client.get("/history", params={"limit": 200})
    assert [run["taskId"] for run in reversed(listed.json()["runs"])] == TEXTS
    assert steering(listed.text) == []
    for text in TEXTS:
        body = {"execution": {"commandId": text, "taskId": "t", "source": "s", "actions": [{"id": "a", "type": text}]}}
        refused = await served.client.post("/execute", json=body)
        assert refused.status_code == 400
        assert steering(refused.text) == [], text


async def test_mcp(visit: Visit) -> None:
    place = await visit()
    async with place.talk() as agent:
        for text in TEXTS:
            answer = await agent.client.call_tool("act", {"type": text, "text": text})
            shown = "".join(getattr(part, "text", "") for part in answer.content)
            assert steering(shown, spared="\n") == [], text
            assert steering(json.dumps(answer.structured_content, ensure_ascii=True)) == []
