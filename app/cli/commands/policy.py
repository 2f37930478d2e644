"""``policy``: what executions may do, and what a payload would be refused. Uses no device."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.flags import Flag
from clawperator.app.cli.payload_file import read_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clawperator.engine.config.policy import Profile
    from clawperator.engine.config.settings import Settings

_POLICY_FLAG = Flag("--policy", "<file>", "use this policy file [the active one]", file=True)


class Show(Command):
    usage = "[--policy <file>] [options]"
    notes = (
        "The policy file is --policy, else CLAWPERATOR_POLICY, else policy_path of the settings, else policy.toml beside them. Without\n"
        "a file, everything except purchase_risk is allowed."
    )
    examples = ("", "--output pretty", "--policy ./policy.toml")
    flags = (_POLICY_FLAG,)

    def run(self, options: Options) -> Answer:
        from clawperator.engine.config.active_profile import load_policy, policy_place
        from clawperator.engine.config.policy_file import remarks

        chosen, source = _settings(options)
        policy = load_policy(chosen)
        document = {
            "ok": True,
            "path": policy_place(chosen).path,
            "exists": bool(policy.path),
            "source": source,
            "activeProfile": policy.active,
            "profiles": [profile.to_dict() for profile in policy.profiles.values()],
            "remarks": list(remarks(policy.profile())),
        }
        return Answer(document, view="settings.policy")


class Check(Command):
    usage = "[--execution <json|file|->] [--profile <name>] [--policy <file>] [options]"
    notes = (
        "Without a payload, validates the policy file. With one, lists each action's capabilities and everything that the policy denies.\n"
        "Exits with 1 if anything is invalid or denied. Sends nothing to a device and records nothing."
    )
    examples = ("", "--execution plan.json", "--execution - --policy ./strict.toml --output pretty < plan.json")
    flags = (
        Flag("--execution", "<json|file|->", "check this payload against the policy", file=True),
        Flag("--profile", "<name>", "use this profile [the active one]"),
        _POLICY_FLAG,
    )

    def run(self, options: Options) -> Answer:
        from clawperator.engine.config.active_profile import load_profile, policy_place

        chosen, _ = _settings(options)
        path = policy_place(chosen).path
        if problems := _problems(chosen):
            report = {"ok": False, "path": path, "exists": os.path.lexists(path), "problems": problems}
            return Answer(report, view="settings.policy_checked", failed=True)
        profile = load_profile(chosen, options.profile or "")
        report = {"ok": True, "path": path, "exists": bool(profile.path), "problems": [], "profile": profile.name}
        if options.execution is not None:
            report |= _verdict(profile, options.execution, options.timeout_ms)
        return Answer(report, view="settings.policy_checked", failed=not report["ok"])


def _settings(options: Options) -> tuple[Settings, str]:
    """The settings, and the source of the policy: ``flag``, ``env``, ``file`` or ``default``."""
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import Settings, choices, read_settings_file

    flags = {"policy_path": options.policy}
    source = choices(flags, os.environ, read_settings_file(settings_path()))["policy_path"].source
    return Settings.resolve(flags, file=settings_path()), source


def _problems(chosen: Settings) -> list[Mapping[str, Any]]:
    """Every error of the policy file."""
    from clawperator.engine.config.active_profile import load_policy
    from clawperator.engine.errors import EngineError

    try:
        load_policy(chosen)
    except EngineError as exc:
        return list(exc.details["problems"])
    return []


def _verdict(profile: Profile, source: str, timeout_ms: int | None) -> dict[str, Any]:
    """Every action of the payload with its capabilities, and every refusal. Raises ``EngineError`` for an invalid payload."""
    from clawperator.engine.config.policy import action_refusals, capabilities_of, packages_of
    from clawperator.engine.executions.validate import validate

    execution = validate(read_payload(source), timeout_ms=timeout_ms).execution
    actions: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for index, action in enumerate(execution.actions):
        refusals = [refusal.to_dict() for refusal in action_refusals(profile, action, f"actions.{index}")]
        actions.append(
            {
                "id": action.id,
                "type": action.type,
                "capabilities": sorted(capabilities_of(action.type, action.params)),
                "packages": list(packages_of(action)),
                "allowed": not refusals,
            }
        )
        refused += refusals
    return {"ok": not refused, "allowed": not refused, "actions": actions, "refusals": refused}
