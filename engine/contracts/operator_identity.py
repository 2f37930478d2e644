"""The Operator app's names on a device (wire.md#identifiers and wire.md#broadcast)."""

from __future__ import annotations

BRANDS = ("Clawperator", "Androperator")
"""The names in the prefixes of the app's log lines: of every generation up to 0.12, and of the renamed app from 1.0."""

RELEASE_PACKAGE = "com.clawperator.operator"
DEBUG_PACKAGE = f"{RELEASE_PACKAGE}.dev"
OPERATOR_PACKAGES = (RELEASE_PACKAGE, DEBUG_PACKAGE)
AGENT_ACTION = "app.clawperator.operator.ACTION_AGENT_COMMAND"
"""The broadcast action of every generation of the app."""

SERVICE_CLASS = "clawperator.operator.accessibilityservice.OperatorAccessibilityService"
LISTENER_CLASS = "action.notification.NotificationListenerService"


def service_of(package: str) -> str:
    """The accessibility service of an Operator app, as the secure settings list it."""
    return f"{package}/{SERVICE_CLASS}"


def listener_of(package: str) -> str:
    """The notification listener of an Operator app, as the secure settings list it."""
    return f"{package}/{LISTENER_CLASS}"
