#!/usr/bin/env bash
# As skills of the 0.3 era are written: <device id> [<receiver package>], one payload file, the nested commands.
set -euo pipefail
DEVICE_ID="${1:-${DEVICE_ID:-}}"
RECEIVER_PKG="${2:-${RECEIVER_PKG:-com.clawperator.operator}}"
CLAW_BIN="${CLAW_BIN:-clawperator}"
if [[ -x "$CLAW_BIN" ]]; then CLAW=("$CLAW_BIN"); else read -ra CLAW <<<"$CLAW_BIN"; fi

payload="$(mktemp)"
trap 'rm -f "$payload"' EXIT
cat >"$payload" <<JSON
{"commandId":"first-era-$$","taskId":"first-era","source":"skill","expectedFormat":"android-ui-automator","timeoutMs":30000,
 "actions":[
  {"id":"close","type":"close_app","params":{"applicationId":"com.android.settings"}},
  {"id":"pause","type":"sleep","params":{"durationMs":1}},
  {"id":"open","type":"open_app","params":{"applicationId":"com.android.settings"}},
  {"id":"page","type":"wait_for","params":{"matcher":{"resourceId":"com.android.settings:id/recycler_view"}}},
  {"id":"seek","type":"scroll_and_click","params":{"target":{"textContains":"About"},"clickAfter":false}},
  {"id":"snap","type":"snapshot"}]}
JSON
output="$("${CLAW[@]}" execute --execution "$payload" --device-id "$DEVICE_ID" --receiver-package "$RECEIVER_PKG")" || {
  echo "$output" >&2
  exit 1
}
grep -q '"id":"snap","actionType":"snapshot_ui","success":true' <<<"$output"
echo "TEXT_BEGIN"
grep -o 'About[^\\"]*' <<<"$output" | head -n 1
echo "TEXT_END"
echo "RESULT|status=success|device=$DEVICE_ID|package=$RECEIVER_PKG"
echo "✅ Read."
