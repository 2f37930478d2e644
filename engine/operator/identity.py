"""What the Operator app is called on a device (wire §1, §2.1)."""

from __future__ import annotations

RELEASE_PACKAGE = "com.clawperator.operator"
DEBUG_PACKAGE = f"{RELEASE_PACKAGE}.dev"
AGENT_ACTION = "app.clawperator.operator.ACTION_AGENT_COMMAND"
"""The broadcast action that every generation of the app really listens to."""

SERVICE_CLASS = "clawperator.operator.accessibilityservice.OperatorAccessibilityService"
LISTENER_CLASS = "action.notification.NotificationListenerService"
