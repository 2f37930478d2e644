#!/usr/bin/env bash
# For callers that start shell scripts only.
set -euo pipefail
exec @runner@ "$(dirname "${BASH_SOURCE[0]}")/@script@" "$@"
