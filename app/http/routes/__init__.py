"""The routes by what they are about; each module has a ``router``."""

from clawperator.app.http.routes import (
    devices,
    emulators,
    events,
    executions,
    health,
    history,
    observing,
    readiness,
    skills,
)

_MODULES = (devices, executions, observing, skills, emulators, history, readiness, events, health)
ROUTERS = tuple(module.router for module in _MODULES)
