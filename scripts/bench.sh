#!/usr/bin/env bash
# Measures what docs/PERFORMANCE.md reports: each number beside the machine's
# own limits in the same run. Prints the median of five runs of each benchmark.
set -euo pipefail
count=${COUNT:-5}
go build -trimpath -ldflags '-s -w' -o bin/callgate ./cmd/callgate
run() { go test -run '^$' -bench "$1" -benchtime "${BENCHTIME:-1s}" -count "$count" "$2" | grep '^Benchmark' || true; }
{
  run 'Machine|Read|Write' ./internal/gate
  run 'AcquireRelease3|Drain' ./internal/gate/lock
  run 'Lookup|Register' ./internal/registry
  run 'Commit|Note|Raw|Open|Task|Heartbeat' ./internal/storage/sqlite
  run 'Idle' ./internal/kernel/tasks
  run 'Program|Proxied' ./internal/cli
  run 'Call|Bare|Proxied' ./internal/daemon/mcpserver
  run 'Query|Index' ./internal/search
  run 'Cold|Unchanged' ./internal/agent/surface
  run . ./internal/source/mcp
  run 'Read|Edit|Grep' ./internal/module/filesystem
  run 'Exec|Run' ./internal/sandbox
} | awk '
  { name = $1; for (i = 3; i < NF; i += 2) { if ($(i+1) == "B/op") continue; key = name "\t" $(i+1); if (!(key in n)) order[++keys] = key; value[key, ++n[key]] = $i } }
  END {
    for (k = 1; k <= keys; k++) {
      key = order[k]; m = n[key]
      for (i = 1; i <= m; i++) v[i] = value[key, i] + 0
      for (i = 2; i <= m; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j+1] = v[j]; v[j+1] = x }
      printf "%s\t%s\n", key, v[int((m + 1) / 2)]
    }
  }' | column -t -s $'\t'
printf 'binary\tbytes\t%s\n' "$(stat -c %s bin/callgate)"
