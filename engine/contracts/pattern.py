"""Check regular expressions for errors common to Java's dialect, which the device uses, and Python's."""

from __future__ import annotations

import re
import warnings

_QUOTED = re.compile(r"\\Q.*?(?:\\E|$)", re.DOTALL)
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z])")
_DEFINITE = (
    "missing ), unterminated subpattern",
    "unbalanced parenthesis",
    "unterminated character set",
    "nothing to repeat",
    "multiple repeat",
    "bad escape (end of pattern)",
)


def pattern_complaint(pattern: str) -> str:
    """Why no dialect can read ``pattern``; empty where Java might, even if Python does not.

    Only errors that the dialects share count. What remains comes back from the device as ``INVALID_REGEX_PATTERN``.
    """
    python = _NAMED_GROUP.sub("(?P<", _QUOTED.sub("q", pattern))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(python)
    except re.error as exc:
        return exc.msg if exc.msg.startswith(_DEFINITE) else ""
    except (OverflowError, RecursionError):
        return ""
    return ""
