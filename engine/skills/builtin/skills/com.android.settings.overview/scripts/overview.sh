#!/usr/bin/env bash
# Looks for sections of the Settings app and takes a picture of where it ended.
#
#   overview.sh [device-id] [--section <label>] …
#
# Every command says with its exit code whether it came true; `match` says how often a text is on screen.
set -euo pipefail

app="com.android.settings"
most_pages=4

device=()
if [[ -n "${1:-}" && "$1" != -* ]]; then
  device=(--device "$1")
  shift
fi
sections=()
while (($# > 0)); do
  if [[ "$1" != --section || $# -lt 2 ]]; then
    printf 'not understood: %s\n' "$1" >&2
    exit 1
  fi
  sections+=("$2")
  shift 2
done
if ((${#sections[@]} == 0)); then sections=("Network & internet" "Battery" "Display" "System"); fi

cli=("${CLAWPERATOR_BIN:-clawperator}")
if [[ ! -e "${cli[0]}" ]]; then IFS=" " read -r -a cli <<<"${cli[0]}"; fi
if [[ "${cli[0]}" == *.js ]]; then cli=(node "${cli[@]}"); fi

call() { "${cli[@]}" "$@" ${device[@]+"${device[@]}"}; }

# What a command has to say is kept for those who ask, and shown when it fails.
answer=""
must() { answer=$(call "$@") || { printf '%s\n' "$answer" >&2; exit 1; }; }

# In JSON a quote inside of a text is escaped: this one can only be the answer's own.
on_screen() { must match --text "$1" && [[ "$answer" == *'"count":'[1-9]* ]]; }

must close "$app"
must open "$app"
must wait --id "$app:id/recycler_view"

result="RESULT"
missing=0
page=0
for section in "${sections[@]}"; do
  # Sections follow one another from top to bottom, so the search goes on where the last one ended.
  until on_screen "$section" || ((page >= most_pages)); do
    must scroll down --container-id "$app:id/recycler_view"
    page=$((page + 1))
  done
  if on_screen "$section"; then
    result+="|$section=found"
  else
    result+="|$section=missing"
    missing=$((missing + 1))
  fi
done

picture="$(mktemp -d "${TMPDIR:-/tmp}/settings-overview-XXXXXX")/settings.png"
must screenshot --path "$picture"
printf 'SCREENSHOT|path=%s\n' "$picture"
printf '%s\n' "$result"
if ((missing > 0)); then
  printf '%d of %d sections are missing\n' "$missing" "${#sections[@]}" >&2
  exit 1
fi
printf '✅ Sections found: %d\n' "${#sections[@]}"
