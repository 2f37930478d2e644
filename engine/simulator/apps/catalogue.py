"""The apps installed on a simulated device."""

from __future__ import annotations

from clawperator.engine.simulator.apps.browser import BROWSER
from clawperator.engine.simulator.apps.conditions import SPINNER
from clawperator.engine.simulator.apps.feed import FEED
from clawperator.engine.simulator.apps.launcher import LAUNCHER
from clawperator.engine.simulator.apps.settings import SETTINGS
from clawperator.engine.simulator.apps.shop import SHOP
from clawperator.engine.simulator.apps.thermostat import THERMOSTAT
from clawperator.engine.simulator.apps.vault import VAULT
from clawperator.engine.simulator.apps.view import App

APPS: tuple[App, ...] = (LAUNCHER, SETTINGS, SHOP, THERMOSTAT, FEED, VAULT, SPINNER, BROWSER)
"""In the order of their icons."""
