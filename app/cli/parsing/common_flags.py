"""Flags that several commands share."""

from __future__ import annotations

from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.engine.contracts.limits import JOBS, MAX_DISPLAY, MAX_JOBS, THEN
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace as Options

HISTORY_FLAG = switch("--no-history", "do not record runs in the history")
POLICY_FLAG = Flag("--policy", "<file>", "use this policy file [policy.toml in the config folder]", file=True)
POLICY_FLAGS = (POLICY_FLAG, switch("--safe-logs", "keep screen texts out of the log and the history"))
"""What limits a command and what is recorded about it."""
BRIEF_FLAG = switch("--brief", "print only the outcome, the data of the steps and the view")
FLEET_FLAG = Flag("--fleet", "<nats://host:port>", "run on a device of this fleet: --device host/serial")
ALLOW_PARTIAL_FLAG = switch("--allow-partial", "exit with 0 if the plan ran to its end, but steps failed")
OBSERVE_FLAGS = (
    FLEET_FLAG,
    switch("--raw-envelope", "print the device's envelope unchanged, without derived codes and host keys"),
    BRIEF_FLAG,
    ALLOW_PARTIAL_FLAG,
    Flag("--max-snapshot-bytes", "<n>", "truncate UI tree text after n bytes [no limit]", bounds=(1, 2**31)),
    HISTORY_FLAG,
    *POLICY_FLAGS,
)
"""The flags of every command that runs an execution and changes nothing."""
DISPLAY_FLAG = Flag("--display", "<n>", "use this display, by its id in device info [0]", bounds=(0, MAX_DISPLAY))
RESULT_FLAGS = (
    Flag(
        "--then",
        "<view>",
        "add the screen once it has settled: compact, interactive, full, diff (a unified diff of compact, or compact if that is "
        "shorter), none (only whether it changed)",
        choices=THEN,
    ),
    *OBSERVE_FLAGS,
)
"""The flags of every command that acts on a device."""
OVERWRITE_FLAG = switch("--overwrite", "let a screenshot replace any existing file, not only a PNG")
CHECK_FLAGS = (
    switch("--validate-only", "validate the payload without a device"),
    switch("--dry-run", "show the plan without a device (overrides --validate-only)"),
)
REGISTRY_FLAG = Flag(
    "--registry",
    "<file|builtin>",
    "use this registry file, or builtin for the built-in skills [the installed one]",
    suggest=("builtin",),
    file=True,
)
SNAPSHOT_FLAG = Flag(
    "--snapshot", "<file|->", "read a saved dump or result instead of a device (- is stdin)", file=True
)
JUNIT_FLAG = Flag("--junit", "<file>", "write the result as JUnit XML as well", file=True)
DEVICES_FLAGS = (
    Flag(
        "--devices",
        "<a,b|all|tag:name>",
        "run on each of these devices: serials, aliases, all ready ones, or those with a tag; of a fleet also host/serial",
        suggest="devices",
    ),
    Flag("--jobs", "<n>", f"run on at most n devices at a time [{JOBS}]", bounds=(1, MAX_JOBS)),
    switch("--fail-fast", "start no other device after one that did not succeed"),
    JUNIT_FLAG,
)
"""The flags of commands that run on many devices."""


def check_devices(options: Options) -> None:
    """Refuse what has no effect without ``--devices``, and a second choice of devices beside it."""
    if options.devices is None:
        given = {"--jobs": options.jobs, "--fail-fast": options.fail_fast}
        if lone := next((flag for flag, value in given.items() if value), None):
            raise EngineError(ErrorCode.USAGE, f"{lone} requires --devices")
    elif options.device_id is not None:
        raise EngineError(ErrorCode.USAGE, "--device-id and --devices cannot be combined")


PROGRESS_FLAG = switch("--json-progress", "write progress to stderr as JSON Lines")
NO_INPUT_FLAG = switch("--no-input", "fail instead of asking")
CONFIRMATION_FLAGS = (switch("--yes", "confirm without asking"), NO_INPUT_FLAG)


def limit_flag(what: str, default: int, most: int) -> Flag:
    """Declare ``--limit``: how many of ``what`` are listed."""
    return Flag("--limit", "<n>", f"list at most n {what}", bounds=(1, most), default=default)
