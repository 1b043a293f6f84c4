#!/usr/bin/env bash
# Real coding agents whose kernel is killed under them: in the middle of a call, which
# is told to be in doubt and is not made again, and between two calls, of which the next
# works. Each has a scripted model (scripts/scriptedllm). Clients that cannot be
# installed are passed over, as in scripts/clients.sh, whose folder of clients is used.
set -euo pipefail
root=$(pwd)
export PATH="$root/bin:$PATH" NO_COLOR=1
cache=${CALLGATE_NPM:-$root/.scratch/npm}/clients
command -v npm >/dev/null || { echo 'killed: skipped, npm is not here'; exit 0; }
declare -A package=([codex]=@openai/codex@0.166 [claude]=@anthropic-ai/claude-code@2.1)
for name in "${!package[@]}"; do
  [ -e "$cache/$name/done" ] && continue
  mkdir -p "$cache/$name"
  timeout 100 npm install --prefix "$cache/$name" --silent --no-fund --no-audit --fetch-retries 0 "${package[$name]}" node@22 \
    >/dev/null 2>&1 && touch "$cache/$name/done" &
done; wait

scratch=$(mktemp -d)
pids=()
finish() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  wait 2>/dev/null || true
  HOME="$scratch/home" callgate down >/dev/null 2>&1 || true
  rm -rf "$scratch"
}
trap finish EXIT
fail() { printf 'killed: %s\n' "$*" >&2; exit 1; }
go build -o "$scratch/scriptedllm" ./scripts/scriptedllm
go build -o "$scratch/person" ./scripts/person
export HOME="$scratch/home"
unset CALLGATE_STATE XDG_CONFIG_HOME XDG_STATE_HOME CALLGATE_TOKEN
mkdir -p "$HOME/.codex"
state=$HOME/.local/state/callgate

# The model reads, begins a command that does not end, reads, writes, and reads.
cat > "$scratch/steps.json" <<'JSON'
{"steps": [
  {"tool": "filesystem__read", "args": {"path": "greeting.txt"}, "want": "hello"},
  {"tool": "shell__bash", "args": {"command": "echo once >> begun; sleep 300"}, "want": "in doubt"},
  {"tool": "filesystem__read", "args": {"path": "greeting.txt"}, "want": "hello"},
  {"tool": "filesystem__write", "args": {"path": "between.txt", "content": "written\n"}, "want": "between.txt"},
  {"tool": "filesystem__read", "args": {"path": "between.txt"}, "want": "written"},
  {"tool": "filesystem__edit", "args": {"path": "between.txt", "op": "append", "new": "more\n"}, "want": "more"}],
 "done": "IT WENT ON"}
JSON
"$scratch/scriptedllm" -script "$scratch/steps.json" -log "$scratch/model.log" > "$scratch/address" & pids+=($!)
until [ -s "$scratch/address" ]; do kill -0 $! 2>/dev/null || fail 'the scripted model did not come up'; sleep 0.05; done
model=$(cat "$scratch/address")
cat > "$HOME/.codex/config.toml" <<TOML
model = "scripted"
model_provider = "local"
approval_policy = "never"
[model_providers.local]
name = "local"
base_url = "http://$model/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
[mcp_servers.callgate]
command = "callgate"
args = ["mcp", "--builtin", "filesystem,shell"]
startup_timeout_sec = 30
tool_timeout_sec = 360
default_tools_approval_mode = "approve"
TOML
ask_codex() { LOCAL_KEY=x codex exec --skip-git-repo-check "go on"; }
ask_claude() {
  printf '%s' '{"mcpServers": {"callgate": {"command": "callgate", "args": ["mcp", "--builtin", "filesystem,shell"]}}}' > mcp.json
  ANTHROPIC_BASE_URL="http://$model" ANTHROPIC_API_KEY=x ENABLE_TOOL_SEARCH=false CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
    claude -p "go on" --mcp-config mcp.json --allowedTools mcp__callgate
}

killer() { # killer FILE: kills the kernel once the file is there
  until [ -s "$1" ]; do sleep 0.05; done
  local kernel; kernel=$(cat "$state/lock")
  kill -KILL "$kernel" && echo "killed the kernel, process $kernel, when ${1##*/} was there"
}
passed=()
for name in claude codex; do
  [ -e "$cache/$name/done" ] || { echo "killed: $name was passed over, it cannot be installed here"; continue; }
  mkdir "$scratch/$name"; cd "$scratch/$name"
  printf 'hello\nworld\n' > greeting.txt
  printf 'runtime: {sandbox: relaxed}\ntools:\n  modules: {filesystem: {}, shell: {}}\n  capabilities:\n    default_policy: auto\n' > callgate.yaml
  "$scratch/person" callgate app trust --yes > "$scratch/$name.trust" 2>&1 || fail "$(cat "$scratch/$name.trust")"
  killer begun & first=$!; pids+=("$first")
  killer between.txt & second=$!; pids+=("$second")
  PATH="$cache/$name/node_modules/.bin:$PATH"
  export -f "ask_$name"; export model
  timeout -k 5 120 bash -c "ask_$name" > "$scratch/$name.out" 2>&1 </dev/null || fail "$name ended badly: $(tail -c 3000 "$scratch/$name.out")"
  grep -q 'IT WENT ON' "$scratch/$name.out" || fail "$name did not go on: $(tail -c 3000 "$scratch/$name.out")"
  wait "$first" "$second"
  [ "$(cat begun)" = once ] || fail "$name: the command in doubt ran again: $(cat begun)"
  [ "$(cat between.txt)" = $'written\nmore' ] || fail "$name: the file has $(cat between.txt)"
  passed+=("$name")
  cd "$root"
done
callgate log verify | grep -q intact || fail 'the journal is not intact'
doubts=$(callgate log doubts | grep -c 'shell' || true)
[ "$doubts" = "${#passed[@]}" ] || fail "$doubts calls are in doubt, and ${#passed[@]} clients ran"
echo "killed: passed; they go on, in mid-call and between two calls: ${passed[*]}; in doubt, once each: $doubts"
