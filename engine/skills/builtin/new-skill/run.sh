#!/usr/bin/env bash
# @id@: opens @app@ and reads its screen. Arguments: [device-id]
set -euo pipefail

app="@app@"
device=()
if [[ -n "${1:-}" && "$1" != -* ]]; then device=(--device "$1"); fi

cli=("${CLAWPERATOR_BIN:-clawperator}")
if [[ ! -e "${cli[0]}" ]]; then IFS=" " read -r -a cli <<<"${cli[0]}"; fi
if [[ "${cli[0]}" == *.js ]]; then cli=(node "${cli[@]}"); fi

call() { "${cli[@]}" "$@" ${device[@]+"${device[@]}"}; }

call close "$app" >/dev/null
sleep 1.5
call open "$app" >/dev/null
sleep 3
answer=$(call snapshot)
# TODO: read the result, with `call read --id <resourceId>` for instance.
printf 'TEXT_BEGIN\n%s\nTEXT_END\n' "$answer"
printf 'RESULT|app=%s\n' "$app"
printf '✅ The screen was read.\n'
