"""Derive error codes from the error texts of the device. Pure."""

from __future__ import annotations

from clawperator.engine.errors import ErrorCode

DERIVED_CODES: tuple[tuple[tuple[str, ...], ErrorCode], ...] = (
    (
        (
            "No UI node found matching criteria",
            "Target node not found after scrolling",
            "Timeout waiting for node matching",
        ),
        ErrorCode.NODE_NOT_FOUND,
    ),
    (("NODE_AMBIGUOUS: ",), ErrorCode.NODE_AMBIGUOUS),
    (("CONTAINER_AMBIGUOUS: ",), ErrorCode.CONTAINER_AMBIGUOUS),
    (("Click on matching UI node failed", "Click at coordinate"), ErrorCode.NODE_NOT_CLICKABLE),
    (("Scrollable container not found",), ErrorCode.CONTAINER_NOT_SCROLLABLE),
    (("No scrollable container visible", "Container not found for"), ErrorCode.CONTAINER_NOT_FOUND),
    (("URI_NOT_HANDLED",), ErrorCode.URI_NOT_HANDLED),
    (("No app found with applicationId",), ErrorCode.APP_NOT_FOUND),
    (("Matching UI node has no text content",), ErrorCode.NODE_TEXT_EMPTY),
    (("Failed to set text on matching UI node",), ErrorCode.SET_TEXT_FAILED),
    (("Validation failed for text",), ErrorCode.VALIDATOR_MISMATCH),
    (("SNAPSHOT_HIERARCHY_UNAVAILABLE", "UI tree not available"), ErrorCode.UI_TREE_UNAVAILABLE),
    (
        ("OperatorAccessibilityService is not running", "Accessibility service is not available"),
        ErrorCode.SERVICE_UNAVAILABLE,
    ),
    (("Agent command timed out after",), ErrorCode.EXECUTION_TIMEOUT),
)
"""Fragments of ``envelope.error`` and their codes (execution.md#error-codes-from-the-devices-texts), in order."""


def derived_code(error: str) -> ErrorCode | None:
    """The code for an envelope's ``error`` text; ``None`` where no fragment matches."""
    return next((code for parts, code in DERIVED_CODES if any(part in error for part in parts)), None)
