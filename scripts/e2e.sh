#!/usr/bin/env bash
# Drives the real program the way the README says, and checks what it prints.
# "short" is part of `make test`; "full" does it twenty times, and runs the
# command line's own scripts as often.
set -euo pipefail
mode=${1:-short}
root=$(pwd)
. scripts/programs.sh
export PATH="$root/bin:$PATH" NO_COLOR=1

expect() { # expect WORDS COMMAND…: the command's output holds the words
  local words=$1 out; shift
  out=$("$@" 2>&1) || true
  grep -qF -- "$words" <<<"$out" || { printf 'e2e: %s\n  wanted: %s\n  got: %s\n' "$*" "$words" "$out" >&2; exit 1; }
}

ask() { # ask FILE: a call that writes it waits for a human; sets id
  local waiting; waiting=$(callgate tools call Write --path "$1" --content hi --no-wait --json || true)
  id=$(sed -n 's/.*"approval": *"\([^"]*\)".*/\1/p' <<<"$waiting" | head -1)
  [ -n "$id" ] || { echo "e2e: no approval in: $waiting" >&2; exit 1; }
}

walk() {
  local id
  local scratch; scratch=$(mktemp -d)
  export CALLGATE_STATE="$scratch/state"
  mkdir "$scratch/work"; cd "$scratch/work"
  printf 'hello\n' > README.md
  expect 'callgate.yaml' callgate init .
  expect 'filesystem.read' callgate tools list
  expect 'hello' callgate tools call filesystem.read --path README.md
  expect 'did you mean filesystem.read' callgate tools call filesystem.raed --path README.md
  expect 'taken as the number' callgate tools call Read --args '{"path":"README.md","limit":"1"}'

  # A write waits for a human. The one who asked may not answer, nor may a script;
  # a person in another terminal edits the call and says yes.
  callgate up > "$scratch/up.log" 2>&1 & local kernel=$!
  until [ -S "$CALLGATE_STATE/kernel.sock" ]; do sleep 0.05; done
  ask note.txt
  expect 'note.txt' callgate approvals show "$id"
  expect 'needs a person at a terminal' callgate approvals approve "$id"
  expect 'created note.txt' person callgate approvals approve "$id" --args '{"path":"note.txt","content":"edited\n"}' --wait
  expect 'edited' cat note.txt
  expect 'answered' callgate log tail

  # A yes that lasts: the same call runs unasked from then on.
  ask again.txt
  expect 'kept as grant' person callgate approvals approve "$id" --remember exact --wait
  expect 'again.txt' callgate tools call Write --path again.txt --content hi --no-wait
  expect 'just now' callgate grants list

  # A script says yes with a token, which only a person makes.
  expect 'needs a person at a terminal' callgate token create --role approver
  person callgate token create --role approver --name e2e > "$scratch/token" 2>/dev/null
  ask third.txt
  expect 'created third.txt' callgate approvals approve "$id" --token-file "$scratch/token" --wait
  expect 'revoked' callgate token revoke e2e
  ask fourth.txt
  expect 'token' callgate approvals approve "$id" --token-file "$scratch/token"
  expect 'denied' callgate approvals deny "$id"
  [ ! -e fourth.txt ] || { echo 'e2e: a revoked token let a call run' >&2; exit 1; }

  # The kernel is killed, and the next command takes over.
  kill -9 "$kernel"; wait "$kernel" 2>/dev/null || true
  expect 'intact' callgate log verify
  expect 'hello' callgate tools call Read --path README.md
  callgate log export --output "$scratch/journal.jsonl"
  expect 'intact' callgate log verify "$scratch/journal.jsonl"
  expect 'version' callgate doctor
  cd "$root"; rm -rf "$scratch"
}

# Two coding agents start a bridge each; one kernel serves both, and goes when
# it is told to. A bridge that is killed leaves nothing.
bridges() {
  local scratch; scratch=$(mktemp -d)
  export CALLGATE_STATE="$scratch/state"
  mkdir "$scratch/work"; cd "$scratch/work"
  printf 'hello\n' > README.md
  local hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}'
  local read='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Read","arguments":{"path":"README.md","limit":"1"}}}'
  local broken='{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"Read","arguments":{"limit":NaN}}}'
  local line
  for end in eof kill; do
    coproc agent { exec callgate mcp 2>"$scratch/bridge.log"; }
    local pid=$agent_PID
    printf '%s\n%s\n' "$hello" '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&"${agent[1]}"
    read -r -t 20 line <&"${agent[0]}"
    [[ $line == *'"name":"callgate"'* ]] || { echo "e2e: the bridge says: $line $(cat "$scratch/bridge.log")" >&2; exit 1; }
    printf '%s\n' "$broken" >&"${agent[1]}"
    read -r -t 20 line <&"${agent[0]}"
    [[ $line == *'-32700'*'"id":9'* ]] || { echo "e2e: a call that is not JSON: $line" >&2; exit 1; }
    printf '%s\n' "$read" >&"${agent[1]}"
    read -r -t 20 line <&"${agent[0]}"
    [[ $line == *hello* ]] || { echo "e2e: a call through the bridge: $line" >&2; exit 1; }
    if [ "$end" = eof ]; then eval "exec ${agent[1]}>&-"; else kill -9 "$pid"; fi
    wait "$pid" 2>/dev/null || true
  done
  expect 'success' callgate log tail
  expect 'has ended' callgate down
  for _ in $(seq 100); do [ -S "$CALLGATE_STATE/kernel.sock" ] || break; sleep 0.1; done
  [ ! -S "$CALLGATE_STATE/kernel.sock" ] || { echo 'e2e: the kernel in the background does not end' >&2; exit 1; }
  expect 'intact' callgate log verify
  cd "$root"; rm -rf "$scratch"
}

times=1; [ "$mode" = full ] && times=20
for _ in $(seq "$times"); do walk; bridges; done
[ "$mode" = full ] && go test -count=20 -timeout 30m ./internal/cli/... ./internal/daemon/...
echo "e2e: $times walks passed"
