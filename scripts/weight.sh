#!/usr/bin/env bash
# Measures what the program weighs: the size of its file, what of it is dead
# weight, and the memory that its start and its long-lived processes take.
# Fails if the linker had to keep code that nothing calls.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/callgate

CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -dumpdep' -o "$bin" ./cmd/callgate 2>"$work/deps" || {
  grep -v ' -> ' "$work/deps" >&2
  exit 1
}
printf 'program file\t%s bytes\n' "$(stat -c %s "$bin")"

# A call of reflect's Method or MethodByName with a name that is known only at
# run time, as text/template makes, keeps every exported method of every type
# that is converted to an interface.
if keepers=$(grep -oE '^[^ ]+ <[^>]*ReflectMethod[^>]*>' "$work/deps" | sort -u); then
  printf 'these keep all exported methods in the program:\n%s\n' "$keepers"
  exit 1
fi
printf 'dead code\tis removed\n'

GODEBUG=inittrace=1 "$bin" version 2>"$work/init" >/dev/null
awk '/^init / { ms += $5; bytes += $8 } END { printf "initialisation\t%.1f ms, %d bytes; the largest:\n", ms, bytes }' "$work/init"
awk '/^init / { print "\t" $8, $2 }' "$work/init" | sort -rn | head -8

state=$work/state
mkdir "$work/folder"
coproc bridge { cd "$work/folder" && CALLGATE_STATE=$state HOME=$work exec "$bin" mcp; }
to=${bridge[1]} from=${bridge[0]} pid=$bridge_PID
say() { printf '%s\n' "$1" >&"$to"; }
say '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"weight","version":"1"}}}'
read -r _ <&"$from"
say '{"jsonrpc":"2.0","method":"notifications/initialized"}'
say '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
read -r _ <&"$from"
sleep 2
memory() { awk '/^(VmRSS|RssAnon|RssFile)/ { printf "%s %d MB  ", $1, $2 / 1000 }' "/proc/$1/status"; echo; }
printf 'bridge\t'; memory "$pid"
kernel=$(pgrep -f -- "$bin --state $state up" | head -1)
printf 'idle kernel\t'; memory "$kernel"
exec {to}>&-
wait "$pid" || true
CALLGATE_STATE=$state HOME=$work "$bin" down >/dev/null 2>&1
