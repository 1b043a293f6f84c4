#!/usr/bin/env bash
# The MCP conformance suite against the real program, in front of the SDK's own
# fixture server: every scenario that a version of the protocol requires, for the
# newest version and for the last with the old handshake. What is scored are
# scenarios, not checks. Without npm, or without a registry in reach, it says so
# and passes.
set -euo pipefail
root=$(pwd)
export NO_COLOR=1
cache=${CALLGATE_NPM:-$root/.scratch/npm}/conformance
scripts/npm.sh conformance || { echo 'conformance: skipped'; exit 0; }

# Required scenarios that may fail, and why: [VERSION/SCENARIO]=reason.
declare -A excused=()
# How many a version requires: fewer means that the suite did not really run.
declare -A required=([2025-11-25]=30 [2026-07-28]=37)

scratch=$(mktemp -d)
pid=
finish() {
  [ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; } || true # its servers end with it
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT TERM
fail() { printf 'conformance: %s\n' "$*" >&2; exit 1; }

. scripts/programs.sh

# A server on the newest protocol cannot ask in the middle of a call, so for the
# old one it is spoken to in the old one.
serve() { # serve VERSION: sets url
  local work=$scratch/$1 pin=
  mkdir "$work"
  [ "$1" = 2026-07-28 ] || pin=", protocol: \"$1\""
  printf 'tools:\n  modules: {mcp: {config: {servers: {fixture: {command: "%s"%s}}}}}\n  capabilities: {default_policy: auto}\n' "$root/bin/everything-server" "$pin" > "$work/callgate.yaml"
  for what in 'app trust' 'mcp trust fixture'; do
    "$root/bin/person" "$root/bin/callgate" --state "$scratch/state" -C "$work" $what >"$work/trust.log" 2>&1 || fail "the fixture cannot be used: $(cat "$work/trust.log")"
  done
  "$root/bin/callgate" --state "$scratch/state" -C "$work" mcp --private --http 127.0.0.1:0 --no-auth --forms --mode direct --bare-names >"$work/http.log" 2>&1 & pid=$!
  for _ in $(seq 100); do
    url=$(sed -n 's/.*serving MCP at \(http:[^ ]*\).*/\1/p' "$work/http.log" 2>/dev/null || true) # it may not be there yet
    [ -z "$url" ] || return 0
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  fail "the program does not serve: $(cat "$work/http.log")"
}

score() { # score VERSION: names of required scenarios that passed, and of those that did not
  local out=$scratch/$1.txt unscored
  sed -n '/^=== SUMMARY/,$p' "$out" > "$out.summary"
  unscored=$(sed -n '/^Not scored/,$s/^ *[✓✗] \([^ ]*\) (.*/\1/p' "$out.summary")
  sed '/^Not scored/,$d' "$out.summary" | sed -n 's/^\([✓✗]\) \([^ ]*\): .*/\1 \2/p' | { [ -z "$unscored" ] && cat || grep -vxFf <(sed 's/.*/✓ &\n✗ &/' <<<"$unscored"); } || true
}

for version in 2025-11-25 2026-07-28; do
  serve "$version"
  timeout 60 "$cache/node_modules/.bin/node" "$cache/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
    server --url "$url" --requirements "$version" --timeout 20000 -o "$scratch/$version.out" >"$scratch/$version.txt" 2>&1 || true # the score tells
  kill "$pid"; wait "$pid" 2>/dev/null || true; pid=
  scored=$(score "$version")
  passed=$(grep -c '^✓' <<<"$scored" || true) bad=
  [ "$(grep -c . <<<"$scored")" -eq "${required[$version]}" ] || fail "$version scored $(grep -c . <<<"$scored") scenarios, not ${required[$version]}: $(tail -c 2000 "$scratch/$version.txt")"
  while read -r mark name; do
    [ "$mark" = ✗ ] || continue
    if [ -n "${excused[$version/$name]:-}" ]; then echo "conformance: $version $name fails, as it is known to: ${excused[$version/$name]}"; continue; fi
    bad=1; echo "conformance: $version $name fails" >&2
    for checks in "$scratch/$version.out"/*"$name"-20*/checks.json; do grep -h '"errorMessage"' "$checks" >&2 || true; done
  done <<<"$scored"
  [ -z "$bad" ] || fail "$version: $passed of ${required[$version]}; the kernel said: $(tail -n 5 "$scratch/$version/http.log")"
  echo "conformance: $version passes $passed of ${required[$version]} required scenarios"
done
