#!/usr/bin/env bash
# Measures a call of an MCP server through the real program beside a bare forwarder, in turns, and prints the medians of
# ten rounds: docs/PERFORMANCE.md has them. With --servers 70 it measures the kernel's memory instead.
#
#   scripts/gatebench.sh --rounds 10
set -euo pipefail
go build -trimpath -ldflags '-s -w' -o bin/callgate ./cmd/callgate
go build -o bin/person ./scripts/person
go build -o bin/gatebench ./scripts/gatebench
bin/gatebench "$@"
