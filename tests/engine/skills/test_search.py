"""Searching: filters are AND-ed, a keyword is part of what describes a skill, and odd entries are only never found."""

from __future__ import annotations

from typing import Any

from clawperator.engine.skills.registry import Registry, search
from tests.support import table

SKILLS: tuple[dict[str, Any], ...] = (
    {
        "id": "com.a.read",
        "applicationId": "com.a",
        "intent": "read",
        "summary": "Read the STRASSE.",
        "keywords": ["lamp"],
    },
    {"id": "com.a.write", "applicationId": "com.a", "intent": "write", "summary": "Write.", "keywords": ["Bulb", 7]},
    {"id": "com.b.read", "applicationId": "com.b", "intent": "read", "summary": "Read."},
    {"id": 7, "summary": None, "applicationId": ["com.a"], "keywords": "lamp"},
    {},
)
REGISTRY = Registry("/r.json", "/", SKILLS, "flag")


@table(
    ("filters", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"app": "com.a"}, [0, 1]),
        ({"app": "com"}, []),
        ({"intent": "read"}, [0, 2]),
        ({"intent": "READ"}, []),
        ({"app": "com.a", "intent": "read"}, [0]),
        ({"keyword": "COM.B"}, [2]),
        ({"keyword": "straße"}, [0]),
        ({"keyword": "bulb"}, [1]),
        ({"keyword": "lamp"}, [0]),
        ({"keyword": "read", "app": "com.b"}, [2]),
        ({"keyword": "nothing of it"}, []),
    ],
    ids=str,
)
def test_search(filters: dict[str, str], expected: list[int]) -> None:
    assert search(REGISTRY, **filters) == [SKILLS[place] for place in expected]
