"""``demo``: one simulated device, without a phone and without adb."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.commands.console import DRAWING_FLAGS, has_terminal, open_console
from clawperator.app.cli.parsing.common_flags import RESULT_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SETTINGS = "com.android.settings"


class Demo(Command):
    long_lived = True
    notes = (
        "On a terminal, it opens the console on a simulated device; with --json, --output or no terminal, it runs "
        "an example plan there and prints its outcome, with the compact views of its two snapshots; --raw-envelope prints "
        "the whole result."
    )
    examples = ("", "--json", "--output pretty")
    flags = (*DRAWING_FLAGS, *RESULT_FLAGS)

    def run(self, options: Options) -> Answer | int:
        if has_terminal() and not options.json and options.output is None:
            return open_console(options, demo=True)
        from clawperator.app.cli.execution import execute
        from clawperator.app.cli.simulators import one_device

        answer = execute(example(), options, settings_source=one_device)
        if not (options.brief or options.raw_envelope):
            answer.document = outlined(answer.document)
        return answer


def outlined(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the brief form of a result with all of its steps."""
    from clawperator.engine.executions.brief import brief

    answer = brief(document)
    data = {step["id"]: step.get("data") for step in answer["outcome"].get("steps", ())}
    steps = [
        {**step, "data": data[step["id"]]} if data.get(step["id"]) else step for step in document["outcome"]["steps"]
    ]
    return {**answer, "outcome": {**answer["outcome"], "steps": steps}}


def example() -> dict[str, Any]:
    """Return a plan that shows the parts of an execution."""
    from clawperator.engine.executions.build import generated_id

    return {
        "commandId": generated_id("demo"),
        "taskId": "demo",
        "source": "clawperator-demo",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 30_000,
        "actions": [
            {"id": "open", "type": "open_app", "params": {"applicationId": SETTINGS}},
            {
                "id": "ready",
                "type": "wait_for_node",
                "params": {"matcher": {"resourceId": "com.android.settings:id/homepage_title"}},
            },
            {"id": "before", "type": "snapshot_ui"},
            {"id": "display", "type": "scroll_and_click", "params": {"target": {"textEquals": "Display"}}},
            {"id": "after", "type": "snapshot_ui"},
            {"id": "home", "type": "press_key", "params": {"key": "home"}},
        ],
    }
