"""A login in a secure window: no screenshots, and no root for accessibility."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import go, go_back
from clawperator.engine.simulator.apps.view import App, Scene, Screen, button, column, label, page, text_field, toolbar

PACKAGE = "com.example.vault"


def _main(_: Scene) -> Screen:
    body = column(
        label("Vault", id="brand", height=80, look="heading"),
        label("Your passwords, behind a secure window.", id="tagline", height=32, sensitive=True),
        button("Sign in", go("login"), id="sign_in", look="primary"),
        id="welcome",
        weight=1,
        pad=24,
        gap=16,
    )
    return Screen(root=page(body))


def _login(scene: Scene) -> Screen:
    body = column(
        text_field(scene, "user", "User name", id="username"),
        text_field(scene, "password", "Password", id="password", password=True),
        button("Unlock", go("open", instead=True), id="unlock", look="primary"),
        weight=1,
        pad=24,
        gap=16,
    )
    return Screen(activity=".LoginActivity", secure=True, root=page(toolbar("Sign in", back=go_back), body))


def _open(_: Scene) -> Screen:
    body = column(label("3 entries", id="count", height=40), weight=1, pad=24)
    return Screen(activity=".VaultActivity", secure=True, root=page(toolbar("Vault", back=go_back), body))


VAULT = App(
    package=PACKAGE,
    label="Vault",
    version_name="3.0.2",
    version_code=302,
    state={"user": "", "password": ""},
    screens={"main": _main, "login": _login, "open": _open},
)
