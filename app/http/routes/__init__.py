"""The routes by subject; each module has a ``router``."""

from clawperator.app.http.routes import (
    devices,
    emulators,
    events,
    executions,
    health,
    history,
    observe,
    readiness,
    skills,
    verbs,
)

_MODULES = (devices, executions, verbs, observe, skills, emulators, history, readiness, events, health)
ROUTERS = tuple(module.router for module in _MODULES)
