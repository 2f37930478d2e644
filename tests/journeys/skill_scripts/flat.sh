#!/usr/bin/env bash
# As current skills are written that need no program of their own: the flat commands one after the other.
set -euo pipefail
device="${1:-$CLAWPERATOR_DEVICE_ID}"
target=(--device "$device" --operator-package "${CLAWPERATOR_OPERATOR_PACKAGE:-com.clawperator.operator}")
claw() { "$CLAWPERATOR_BIN" "$@" "${target[@]}"; }

claw open com.android.settings >/dev/null
claw --timeout 20000 --no-daemon snapshot --json | grep -q '"success":true'
title="$(claw read --id com.android.settings:id/homepage_title --json | sed 's/.*"text":"\([^"]*\)".*/\1/')"
if answer="$(claw click --text "Nobody's text")"; then
  echo "clicked what is not there" >&2
  exit 1
fi
code="$(sed 's/.*"errorCode":"\([A-Z_]*\)".*/\1/' <<<"$answer")"
echo "RESULT|status=success|title=$title|refused=$code"
echo "✓ Done."
