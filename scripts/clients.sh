#!/usr/bin/env bash
# Real MCP clients against the real program: the inspector's command line, and
# three coding agents at once, each with a scripted model (scripts/scriptedllm)
# that finds a tool, calls it with a wrong type, hits an approval which somebody
# else answers, and finishes. They share one kernel, which the first of them
# starts. Clients that cannot be installed are passed over, and the line at the
# end says which; without npm all are.
set -euo pipefail
root=$(pwd)
export PATH="$root/bin:$PATH" NO_COLOR=1
cache=${CALLGATE_NPM:-$root/.scratch/npm}/clients
command -v npm >/dev/null || { echo 'clients: skipped, npm is not here'; exit 0; }

# Versions are named, so that a client's next one cannot fail a test of ours.
declare -A package=([inspector]=@modelcontextprotocol/inspector@2.12 [codex]=@openai/codex@0.166
  [claude]=@anthropic-ai/claude-code@2.1 [opencode]=opencode-ai@1.18)
install() { # install NAME: a client with a Node that it runs on
  [ -e "$cache/$1/done" ] && return
  mkdir -p "$cache/$1"
  timeout 100 npm install --prefix "$cache/$1" --silent --no-fund --no-audit --fetch-retries 0 "${package[$1]}" node@22 >/dev/null 2>&1 &&
    timeout 20 "$cache/$1/node_modules/.bin/node" --version >/dev/null && touch "$cache/$1/done"
}
for name in "${!package[@]}"; do install "$name" & done; wait
here() { [ -e "$cache/$1/done" ]; }
client() { # client NAME PROGRAM ARGUMENT…: becomes one, for a minute at most
  local bin=$cache/$1/node_modules/.bin; shift
  PATH="$bin:$PATH" exec timeout -k 5 60 "$bin/$1" "${@:2}" </dev/null
}

scratch=$(mktemp -d)
pids=()
finish() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  wait 2>/dev/null || true # no client is left that would start a kernel again
  local kernel; kernel=$(cat "$scratch/state/lock" 2>/dev/null || true)
  if [ -n "$kernel" ] && kill "$kernel" 2>/dev/null; then
    for _ in $(seq 100); do kill -0 "$kernel" 2>/dev/null || break; sleep 0.1; done
  fi
  rm -rf "$scratch"
}
trap finish EXIT
fail() { printf 'clients: %s\n' "$*" >&2; exit 1; }
expect() { # expect WORDS COMMAND…: the command's output holds the words
  local words=$1 out; shift
  out=$("$@" 2>&1) || true
  grep -qF -- "$words" <<<"$out" || fail "$*"$'\n'"  wanted: $words"$'\n'"  got: $out"
}

go build -o "$scratch/scriptedllm" ./scripts/scriptedllm
export CALLGATE_STATE="$scratch/state" HOME="$scratch/home"
mkdir "$HOME"
workspace() { # workspace NAME: a folder with a policy and a file; goes there
  mkdir "$scratch/$1"; cd "$scratch/$1"
  callgate init . >/dev/null
  printf 'hello\nworld\n' > greeting.txt
}
passed=()

if here inspector; then
  workspace inspector
  inspect() { client inspector mcp-inspector --cli callgate --state "$CALLGATE_STATE" -C "$scratch/inspector" mcp --mode direct "$@"; }
  expect '"filesystem__read"' inspect --method tools/list
  expect 'hello' inspect --method tools/call --tool-name filesystem__read --tool-arg path=greeting.txt limit=1
  passed+=(inspector)
fi

# What the models do: with the tools in view, and with tools that must be found.
cat > "$scratch/direct.json" <<'JSON'
{"steps": [
  {"tool": "filesystem__read", "args": {"path": "greeting.txt", "limit": "1"}, "want": "hello"},
  {"tool": "filesystem__write", "args": {"path": "note.txt", "content": "written\n"}, "again": "waiting for approval", "want": "note.txt"}],
 "done": "ALL STEPS WERE MADE"}
JSON
cat > "$scratch/discovery.json" <<'JSON'
{"steps": [
  {"tool": "search_tools", "args": {"query": "lire un fichier"}, "want": "filesystem.read"},
  {"tool": "execute_tool", "args": {"name": "filesystem.read", "params": {"path": "greeting.txt", "limit": "1"}}, "want": "hello"},
  {"tool": "execute_tool", "args": {"name": "filesystem.write", "params": {"path": "note.txt", "content": "written\n"}}, "again": "waiting for approval", "want": "note.txt"}],
 "done": "ALL STEPS WERE MADE"}
JSON
model() { # model SCRIPT: sets address
  local ready=$scratch/$1.address
  "$scratch/scriptedllm" -script "$scratch/$1.json" -log "$scratch/$1.log" > "$ready" & pids+=($!)
  until [ -s "$ready" ]; do kill -0 $! 2>/dev/null || fail 'the scripted model did not come up'; sleep 0.05; done
  address=$(cat "$ready")
}
model direct; direct=$address
model discovery; discovery=$address

codex() { # its own approvals are off: what needs a human is Callgate's to say
  workspace codex; mkdir "$HOME/.codex"
  cat > "$HOME/.codex/config.toml" <<TOML
model = "scripted"
model_provider = "local"
approval_policy = "never"
[model_providers.local]
name = "local"
base_url = "http://$discovery/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
[mcp_servers.callgate]
command = "callgate"
args = ["mcp", "--mode", "discovery"]
env = {CALLGATE_STATE = "$CALLGATE_STATE"}
required = true
default_tools_approval_mode = "approve"
TOML
  LOCAL_KEY=x client codex codex exec --skip-git-repo-check 'Do as you are told.'
}
claude() {
  workspace claude
  printf '{"mcpServers": {"callgate": {"command": "callgate", "args": ["mcp", "--mode", "discovery"]}}}' > mcp.json
  ANTHROPIC_BASE_URL="http://$discovery" ANTHROPIC_API_KEY=x ENABLE_TOOL_SEARCH=false CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
    client claude claude -p 'Do as you are told.' --mcp-config mcp.json --strict-mcp-config --allowedTools mcp__callgate
}
opencode() {
  workspace opencode
  cat > opencode.json <<JSON
{"autoupdate": false, "model": "local/scripted", "small_model": "local/scripted", "permission": {"*": "allow"},
 "provider": {"local": {"npm": "@ai-sdk/openai-compatible", "name": "local", "models": {"scripted": {"name": "scripted"}},
   "options": {"baseURL": "http://$direct/v1", "apiKey": "x"}}},
 "mcp": {"callgate": {"type": "local", "command": ["callgate", "mcp", "--mode", "direct"]}}}
JSON
  OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1 client opencode opencode run 'Do as you are told.'
}

# The human, in another process.
human() {
  until [ -S "$CALLGATE_STATE/kernel.sock" ]; do sleep 0.1; done
  while sleep 0.2; do
    for id in $(callgate approvals list --json 2>/dev/null | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p'); do callgate approvals approve "$id" || true; done
  done
}
human > "$scratch/human.log" 2>&1 & pids+=($!)

running=()
for name in codex claude opencode; do
  here "$name" || continue
  "$name" > "$scratch/$name.out" 2>&1 & running+=("$name:$!") pids+=($!)
done
for one in "${running[@]}"; do
  name=${one%:*}
  wait "${one#*:}" || fail "$name ended badly: $(tail -c 4000 "$scratch/$name.out")"
  expect 'ALL STEPS WERE MADE' cat "$scratch/$name.out"
  expect 'written' cat "$scratch/$name/note.txt"
  passed+=("$name")
done

# The journal has it all: the call as it was mended, the question, the answer,
# and the end, of each client.
journal=$(callgate log tail -n 500 --json)
recorded() { # recorded NAME WORDS…: one record has all the words
  local left=$journal name=$1 word; shift
  for word; do left=$(grep -F -- "$word" <<<"$left") || fail "$name: no record has $*"; done
}
for one in "${running[@]}"; do
  name=${one%:*}
  recorded "$name" "\"agent\":\"$name" '"kind":"ended"' '"tool":"filesystem:read@' '"limit":1,' '"status":"success"'
  recorded "$name" "\"agent\":\"$name" '"kind":"asked"' "$scratch/$name/note.txt" '"verdict":"wait"'
  recorded "$name" "\"agent\":\"$name" '"kind":"answered"' '"verdict":"approved"'
  recorded "$name" "\"agent\":\"$name" '"kind":"ended"' '"tool":"filesystem:write@' '"status":"success"'
done
for name in "${!package[@]}"; do here "$name" || echo "clients: $name was passed over, it cannot be installed here"; done
[ ${#passed[@]} -gt 0 ] || { echo 'clients: skipped, none can be installed from npm here'; exit 0; }
expect 'intact' callgate log verify
echo "clients: ${passed[*]} passed"
