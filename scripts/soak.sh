#!/usr/bin/env bash
# Fuzzes every parser, repeats the concurrent tests under the race detector,
# kills kernels and lets agents collide. "short" is part of `make test` and
# fuzzes the parsers nearest to a model (the ordinary tests run the seeds of
# all) and the harness of scripts/soak for half a minute; "full" gives each fuzz target
# five minutes, kills 1,000 kernels in one test and 2,000 processes with the harness,
# and makes 10,000 parallel edits. "kills [FLAG…]" runs the harness alone:
#
#   scripts/soak.sh kills --kills 500 --seed 7
#
# docs/TESTING.md says what the harness does, and what must hold.
set -euo pipefail
mode=${1:-short}

harness() { # harness FLAG…: kills real processes, and judges what they leave
  go build -trimpath -ldflags '-s -w' -o bin/callgate ./cmd/callgate
  go build -o bin/person ./scripts/persontest # a person accepts the servers, at a terminal
  go build -o bin/soak ./scripts/soak
  bin/soak --binary bin/callgate --person bin/person "$@"
}
if [ "$mode" = load ]; then
  go build -trimpath -ldflags '-s -w' -o bin/callgate ./cmd/callgate
  go build -o bin/person ./scripts/persontest
  go build -o bin/load ./scripts/load
  bin/load "${@:2}"
  exit
fi
if [ "$mode" = kills ]; then harness "${@:2}"; exit; fi

time=2000x # a count, not a time: a deadline can end a run in an error of its own
[ "$mode" = full ] && time=${FUZZTIME:-5m}
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
  case $(dirname "$file") in
    ./tool | ./internal/app | ./internal/agent/calltext | ./internal/gate/schema | ./internal/gate/schema/limits | ./internal/cli/argv) ;;
    *) [ "$mode" = full ] || continue ;;
  esac
  grep -o '^func Fuzz[A-Za-z0-9_]*' "$file" | sed 's/func //' | while read -r target; do
    echo "fuzz $(dirname "$file") $target $time"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x "$(dirname "$file")" | tail -1
  done
done
if [ "$mode" != full ]; then harness --kills 100 --minutes 0.4 --groups 3; exit; fi
harness --kills 2000 --minutes 60
CGO_ENABLED=1 go test -race -count=50 -timeout 60m ./internal/gate/lock ./internal/registry ./internal/journal ./internal/gate/approval
CALLGATE_KILLS=1000 go test -v -count=1 -timeout 60m -run TestKilledAtAnyMoment ./internal/daemon
CGO_ENABLED=1 go test -race -count=20 -timeout 60m -run 'NothingStays|KilledKernel|TwoAgents|Front|Heal' ./internal/cli
CALLGATE_SOAK=25 go test -count=1 -timeout 60m -run 'TestParallelEditsLoseNothing|TestInterleavingIsSomeSerialOrder' .
