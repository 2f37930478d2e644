"""The constants of execution.md#limits. Lengths are UTF-16 code units, as the device counts them."""

from __future__ import annotations

from clawperator.engine.verbs import MAX_DISPLAY as MAX_DISPLAY  # noqa: PLC0414 -- limits as well
from clawperator.engine.verbs import MAX_EXECUTION_TIMEOUT_MS as MAX_EXECUTION_TIMEOUT_MS  # noqa: PLC0414 -- as above

EXPECTED_FORMAT = "android-ui-automator"
DUMP_FORMAT = "hierarchy_xml"
RENDERED_FORMATS = ("ascii", "json")
"""Formats that the host renders from the device's dump."""
GESTURES = ("swipe", "drag")
"""Actions that Android's ``input`` performs where the Operator app cannot."""
BACKENDS = ("operator", "stock")
"""Ways to a device; the caller chooses one."""
MODES = ("artifact_compiled", "direct")
DEFAULT_MODE = "direct"

MAX_EXECUTION_ACTIONS = 50
MIN_EXECUTION_TIMEOUT_MS = 1_000
MAX_PAYLOAD_BYTES = 64_000
"""UTF-8 bytes of the normalised compact JSON."""

MAX_ID_LENGTH = 128
MAX_SOURCE_LENGTH = 64
MAX_ACTION_TYPE_LENGTH = 64
MAX_MATCHER_VALUE_LENGTH = 512
"""Also of ``enter_text.text``, ``applicationId`` and ``expectedPackage``."""
MAX_URI_LENGTH = 2_048
MAX_SHOWN_TEXT_LENGTH = 2_048
"""Of a toast and of the on-screen log."""
MAX_NOTIFICATION_KEY_LENGTH = 4_096
MAX_QUERY_BYTES = 262_144
"""Of the result of ``query_ui``."""

MAX_RETRY_ATTEMPTS_PER_STEP = 10
MAX_SNAPSHOT_LINES = 2_000
MAX_SNAPSHOT_BYTES = 262_144
MAX_TREE_BYTES = 64 * 1024 * 1024
"""Of one tree that is read, and of all trees of one execution together."""

ENVELOPE_WAIT_BUFFER_MS = 5_000
"""How long the host waits beyond the device's own budget."""
POST_TIMEOUT_SETTLE_MS = 2_000
SLOW_SCROLL_MS = 3_000
"""One scroll and the snapshot after it, where a snapshot takes two seconds."""
MAX_WAIT_MS = 600_000
"""Maximum time that an execution may wait for its device."""

JOBS = 16
"""Default number of devices at a time of an operation on many devices."""
MAX_JOBS = 256

MAX_JSON_DEPTH = 64
"""Far above what any document of the contract nests, far below what exhausts a stack."""


def utf16_length(text: str) -> int:
    """The length of ``text`` as Java and JavaScript count it; a lone surrogate counts as one unit."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


PACKAGE = r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$"
"""A valid Android package name. One with a leading dash would be an option to the device's own tools."""

THEN = ("compact", "interactive", "full", "diff", "none")
"""Forms in which a result shows the screen after its plan."""

DOCTOR_SOURCE = "clawperator-doctor"
"""The ``source`` of the doctor's handshakes."""

FOLLOW_SOURCE = "clawperator-follow"
"""The ``source`` of the host's own snapshots, by which logs and lock files distinguish them from executions."""
