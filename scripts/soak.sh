#!/usr/bin/env bash
# Fuzzes the parsers, repeats concurrent tests under the race detector, and kills kernels
# to see what they leave. docs/TESTING.md describes the harness and what must hold.
#
#   scripts/soak.sh short       100 kills by the harness: part of make test
#   scripts/soak.sh fuzz        2,000 inputs for each parser near a model: part of make test
#   scripts/soak.sh full        five minutes for each fuzz target, repeated concurrent tests,
#                               every package with the race detector (make race), 2,000 kills
#   scripts/soak.sh kills FLAG… the harness alone, for example: kills --kills 500 --seed 7
#   scripts/soak.sh load FLAG…  many conversations and calls against one kernel
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-short}
export CGO_ENABLED=0

harness() { # harness FLAG…: kills real processes, and judges what they leave
  . scripts/programs.sh
  bin/soak --binary bin/callgate --person bin/person "$@"
}

# fuzz TIME FOLDER…: runs every fuzz target of these packages. A test binary is linked once for all of its
# targets. A count as TIME (2000x) is better than a duration, whose end can be an error of its own.
# Under a count, a binary that has passed is not run again: the cache knows it by its hash.
fuzz() {
  local time=$1 folder target binary passed cache root=$PWD
  cache=$(go env GOCACHE)/callgate-fuzz
  mkdir -p "$cache/inputs" .scratch/fuzz
  for folder in "${@:2}"; do
    binary=$root/.scratch/fuzz/${folder//\//-}.test
    go test -c -vet=off -fuzz=. -o "$binary" "./$folder"
    passed=$cache/$(cat "$binary" "$folder"/*_test.go | sha256sum | cut -c1-40)-$time
    [[ $time != *x || ! -e $passed ]] || { echo "fuzz $folder: passed before, nothing has changed"; continue; }
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$folder"/*_test.go); do
      echo "fuzz $folder $target $time"
      (cd "$folder" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" \
        -test.fuzzminimizetime 5x -test.fuzzcachedir "$cache/inputs/$folder") > .scratch/fuzz/log 2>&1 ||
        { cat .scratch/fuzz/log; return 1; }
      grep '^fuzz: elapsed' .scratch/fuzz/log | tail -1
    done
    [[ $time != *x ]] || touch "$passed"
  done
}

case $mode in
short) harness --kills 100 --minutes 0.4 --groups 3 ;;
fuzz) fuzz 2000x tool internal/app internal/agent/calltext internal/gate/schema internal/gate/schema/limits internal/cli/argv ;;
kills) harness "${@:2}" ;;
load)
  . scripts/programs.sh
  go build -o bin/load ./scripts/load
  bin/load "${@:2}" ;;
full)
  grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sed 's/^\.\///' | sort -u > .scratch/fuzzed
  fuzz "${FUZZTIME:-5m}" $(cat .scratch/fuzzed)
  scripts/test.sh race
  harness --kills 2000 --minutes 60
  export CGO_ENABLED=1
  go test -race -count=50 -timeout 60m ./internal/gate/lock ./internal/registry ./internal/journal ./internal/gate/approval
  CALLGATE_KILLS=1000 go test -v -count=1 -timeout 60m -run TestKilledAtAnyMoment ./internal/daemon
  go test -race -count=20 -timeout 60m -run 'NothingStays|KilledKernel|TwoAgents|Front|Heal' ./internal/cli
  CALLGATE_SOAK=25 go test -count=1 -timeout 60m -run 'TestParallelEditsLoseNothing|TestInterleavingIsSomeSerialOrder' . ;;
*) sed -n 's/^#   //p' "$0"; exit 2 ;;
esac
