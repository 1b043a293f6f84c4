#!/usr/bin/env bash
# Several nodes on one PostgreSQL in network namespaces: see scripts/cluster/main.go and docs/TESTING.md. It needs root.
#
#   scripts/cluster.sh faults --faults 1000 --minutes 40
#   scripts/cluster.sh load --seconds 20
#   scripts/cluster.sh upgrade --before OLD-PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/deps.sh
go build -trimpath -o bin/cluster ./scripts/cluster
exec bin/cluster "$@"
