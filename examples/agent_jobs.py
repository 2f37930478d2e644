"""Three jobs of an agent, and what they cost: calls, bytes that a model has to read, and time.

``python agent_jobs.py [cold|warm|mcp] …`` drives the apps of the simulator; ``warm`` needs ``clawperator warm start``. Every step can be
decided from the answers before it: ``seen`` is the text that shows it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

SETTINGS, SHOP, THERMOSTAT = "com.android.settings", "com.example.shop", "com.example.thermostat"
FIELD, PLUS = f"{SHOP}:id/search_src_text", f"{THERMOSTAT}:id/plus"
LOOK = {"then": "compact", "brief": True}
GOAL_CALLS, GOAL_BYTES, GOAL_SECONDS = 5, 4_096, 0.6


class Step(NamedTuple):
    """One call, as a command line and as a call of an MCP tool. ``seen``: what an answer before it shows."""

    words: tuple[str, ...]
    tool: str
    arguments: dict[str, Any]
    seen: str = ""


class Job(NamedTuple):
    """``proof`` returns whether the last answer proves that the job is done."""

    steps: tuple[Step, ...]
    proof: Callable[[dict[str, Any]], bool]


def opens(app: str) -> Step:
    return Step(("open", app, "--then", "compact"), "act", {"type": "open_app", "applicationId": app, **LOOK})


def clicks(seen: str, **selector: str) -> Step:
    words = ("click", "--selector", json.dumps(selector), "--then", "compact")
    return Step(words, "act", {"type": "click", "selector": selector, **LOOK}, seen)


def plan(*actions: dict[str, Any]) -> dict[str, Any]:
    own = [{"id": f"s{number}", **action} for number, action in enumerate(actions)]
    whole = {"commandId": f"job-{time.time_ns()}", "taskId": "job", "source": "agent", "timeoutMs": 20_000}
    return {**whole, "expectedFormat": "android-ui-automator", "actions": own}


DARK, LIST = {"textEquals": "Dark theme"}, {"role": "list"}
WARMER = plan(*[{"type": "click", "params": {"matcher": {"resourceId": PLUS}}}] * 3)
FIELDS = {"title": "product_title", "price": "price"}
JOBS = {
    "dark theme on and proven": Job(
        (
            opens(SETTINGS),
            clicks("Display", textEquals="Display"),
            Step(
                ("set", "--selector", json.dumps(DARK), "--checked", "true"),
                "act",
                {"type": "set_checked", "selector": DARK, "checked": True, "brief": True},
                "Dark theme",
            ),
        ),
        lambda answer: answer["result"]["checked"] is True,
    ),
    "three search results with price": Job(
        (
            opens(SHOP),
            clicks("Search products", resourceId=f"{SHOP}:id/search_bar"),
            Step(
                ("submit", "--id", FIELD, "--text", "coffee"),
                "act",
                {"type": "submit", "selector": {"resourceId": FIELD}, "text": "coffee", "brief": True},
                "search_src_text",
            ),
            Step(
                ("read", "--rows", json.dumps(LIST), "--fields", "title=product_title,price=price"),
                "act",
                {"type": "read_rows", "container": LIST, "fields": FIELDS, "brief": True},
                "product_title",
            ),
        ),
        lambda answer: len([row for row in answer["result"]["rows"] if row["title"] and "$" in row["price"]]) >= 3,
    ),
    "thermostat set and verified": Job(
        (
            opens(THERMOSTAT),
            clicks("Living room", contentDescEquals="Living room tile"),
            Step(
                ("exec", json.dumps(WARMER), "--then", "diff"),
                "execute",
                {"execution": {"actions": WARMER["actions"]}, "then": "diff", "brief": True},
                "plus",
            ),
        ),
        lambda answer: "21.5°C" in str(answer["then"]),
    ),
}
Call = Callable[[Step], Awaitable[str]]


async def run(name: str, call: Call) -> dict[str, Any]:
    """Do one job; return what it cost. A step that fails, or that could not be decided, ends the program."""
    job, answers = JOBS[name], [""]
    began = time.monotonic()
    for step in job.steps:
        if not any(step.seen in answer for answer in answers):
            sys.exit(f"{name}: no answer shows {step.seen!r}, so an agent would have to guess:\n{answers[-1]}")
        answers.append(await call(step))
    seconds = time.monotonic() - began
    if not job.proof(json.loads(answers[-1])):
        sys.exit(f"{name}: not proven by {answers[-1]}")
    size = sum(len(answer.encode()) for answer in answers)
    return {"job": name, "calls": len(job.steps), "bytes": size, "ms": round(seconds * 1000)}


def reset() -> None:
    """Put the device back to its start. It is no part of a job."""
    subprocess.run(("clawperator", "sim", "reset"), stdout=subprocess.PIPE, check=True)


def command_line(*flags: str) -> Call:
    """Run each step as a command line."""

    async def call(step: Step) -> str:
        words = ("clawperator", *step.words, "--brief", *flags)
        done = await asyncio.to_thread(subprocess.run, words, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{done.stdout}")
        return done.stdout

    return call


async def over_mcp(stack: AsyncExitStack) -> Call:
    """Start an MCP server and call its tools."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command="clawperator", args=["mcp"], env=dict(os.environ))
    client = await stack.enter_async_context(Client(stdio_client(server)))

    async def call(step: Step) -> str:
        result = await client.call_tool(step.tool, step.arguments)
        text = str(result.content[0].text)
        if result.is_error:
            sys.exit(f"{step.tool} {step.arguments}\n{text}")
        return text

    return call


async def main(ways: list[str]) -> None:
    for way in ways or ["cold"]:
        async with AsyncExitStack() as stack:
            flags = {"cold": ("--json", "--no-warm"), "warm": ("--json",)}
            call = command_line(*flags[way]) if way in flags else await over_mcp(stack)
            for name in JOBS:
                reset()
                print(json.dumps({"way": way, **await run(name, call)}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
