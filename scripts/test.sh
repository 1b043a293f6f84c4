#!/usr/bin/env bash
# Runs `make test` or `make race`: checks for Go, installs what the tests use, and starts
# scripts/check, which runs the stages.
set -euo pipefail
cd "$(dirname "$0")/.."
want=$(sed -n 's/^go //p' go.mod)
if ! command -v go >/dev/null; then
  echo "test: Go is not installed; Callgate needs Go $want or newer: https://go.dev/doc/install" >&2
  exit 1
fi
have=$(GOTOOLCHAIN=local go env GOVERSION); have=${have#go}
if [ "$(printf '%s\n' "$want" "$have" | sort -V | head -1)" != "$want" ] && ! go version >/dev/null 2>&1; then
  echo "test: Go $have is installed; Callgate needs Go $want or newer: https://go.dev/doc/install" >&2
  exit 1
fi
echo "test: Go $have, $(nproc) cores"
began=$SECONDS
scripts/deps.sh
echo "test: dependencies checked, $((SECONDS - began)) s"
# A shared -trimpath lets what was compiled in one checkout count in another.
export GOFLAGS="$(go env GOFLAGS | sed s/-trimpath//) -trimpath"
CALLGATE_MISSING=$(tr '\n' ' ' < .scratch/missing) exec go run ./scripts/check "${@:2}" "${1:-test}"
