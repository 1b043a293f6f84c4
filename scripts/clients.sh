#!/usr/bin/env bash
# Real MCP clients against the real program, set up with the very words of the
# quickstart in docs/MCP.md: three coding agents at once, each with a scripted model
# (scripts/scriptedllm) that calls a server's tool with a wrong type, hits approvals
# which a person answers in a terminal of their own (scripts/person), one of them for
# ever, and finishes; then each once more, which nobody is asked about; before them one
# that answers in the client's own form; the inspector's command line in the place of the
# editors; and a client of the agent client protocol (acpx).
# They share one kernel, which the first of them starts. Clients that cannot be
# installed are passed over, and the line at the end says which; without npm all are.
set -euo pipefail
root=$(pwd)
export PATH="$root/bin:$PATH" NO_COLOR=1
cache=${CALLGATE_NPM:-$root/.scratch/npm}/clients
command -v npm >/dev/null || { echo 'clients: skipped, npm is not here'; exit 0; }

# Versions are named, so that a client's next one cannot fail a test of ours.
declare -A package=([inspector]=@modelcontextprotocol/inspector@2.12 [codex]=@openai/codex@0.166
  [claude]=@anthropic-ai/claude-code@2.1 [opencode]=opencode-ai@1.18 [acpx]=acpx@0.19)
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
  local kernel; kernel=$(cat "$scratch/home/.local/state/callgate/lock" 2>/dev/null || true)
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

# words CLIENT N: the Nth block of words under the heading of a client in the
# quickstart, so that what people read is what is run here.
words() {
  local found
  found=$(awk -v client="### $1" -v wanted="$2" '
    /^#/ { here = $0 == client; inside = 0; n = here ? 0 : n; next }
    here && /^```sh$/ { n++; fenced = 1; next }
    /^```/ { fenced = 0; next }
    here && fenced { if (n == wanted) print; next }
    here && /^    / { if (!inside) { n++; inside = 1 } if (n == wanted) print substr($0, 5); next }
    { inside = 0 }' "$root/docs/MCP.md")
  [ -n "$found" ] || fail "docs/MCP.md has no block $2 under $1"
  printf '%s\n' "$found"
}

go build -o "$scratch/scriptedllm" ./scripts/scriptedllm
go build -o "$scratch/person" ./scripts/person
[ ! -e "$HOME/.npmrc" ] || npmrc=$(cat "$HOME/.npmrc") # where packages come from, for npx
export HOME="$scratch/home" npm_config_cache="$cache/../cache"
unset CALLGATE_STATE XDG_CONFIG_HOME XDG_STATE_HOME CALLGATE_TOKEN
mkdir -p "$HOME"; printf '%s\n' "${npmrc:-}" > "$HOME/.npmrc"
state=$HOME/.local/state/callgate
workspace() { # workspace NAME: a folder with a file; goes there
  mkdir "$scratch/$1"; cd "$scratch/$1"
  printf 'hello\nworld\n' > greeting.txt
}
form=() terminal=() remembered=() entries=() # which clients passed

# What the models do: read with a wrong type, and write twice, which asks. In a later
# session they make the second write again.
cat > "$scratch/steps.json" <<'JSON'
{"steps": [
  {"tool": "mcp_files__read_text_file", "args": {"path": "greeting.txt", "head": "1"}, "want": "hello"},
  {"tool": "mcp_files__write_file", "args": {"path": "note.txt", "content": "written\n"}, "again": "waiting for approval", "want": "wrote to note.txt"},
  {"tool": "mcp_files__write_file", "args": {"path": "kept.txt", "content": "kept\n"}, "again": "waiting for approval", "want": "wrote to kept.txt"},
  {"tool": "mcp_files__write_file", "args": {"path": "kept.txt", "content": "kept\n"}, "want": "wrote to kept.txt"}],
 "done": "ALL STEPS WERE MADE"}
JSON
cat > "$scratch/later.json" <<'JSON'
{"steps": [{"tool": "mcp_files__write_file", "args": {"path": "kept.txt", "content": "kept\n"}, "want": "wrote to kept.txt"}],
 "done": "IT RAN UNASKED"}
JSON
script() { # script NAME: a model that follows NAME.json; sets address
  "$scratch/scriptedllm" -script "$scratch/$1.json" -log "$scratch/$1.log" > "$scratch/$1.address" & pids+=($!)
  until [ -s "$scratch/$1.address" ]; do kill -0 $! 2>/dev/null || fail 'the scripted model did not come up'; sleep 0.05; done
  address=$(cat "$scratch/$1.address")
}
script later; later=$address
script steps; model=$address

# Each client: its quickstart, which a person types, and beside it only which model it
# asks. ask_CLIENT has its model work.
run() { # run CLIENT WORDS [PERSON]: the words, for a minute at most, with the client in reach
  PATH="$cache/$1/node_modules/.bin:$PATH" ${3:-} timeout --foreground -k 5 60 sh -ec "$2" </dev/null
}
typed() { run "$1" "$2" "$scratch/person"; } # typed CLIENT WORDS: the same, in a terminal
codex() {
  workspace codex
  typed codex "$(words Codex 1)"
  mkdir "$HOME/.codex"
  cat > "$HOME/.codex/config.toml" <<TOML
model = "scripted"
model_provider = "local"
approval_policy = "never"
[model_providers.local]
name = "local"
base_url = "http://$model/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
$(words Codex 2)
TOML
  ask_codex
}
ask_codex() { LOCAL_KEY=x run codex "$(words Codex 3)"; }
claude() {
  workspace "${1:-claude}"
  typed claude "$(words 'Claude Code' 1; words 'Claude Code' 2)"
  ${2:-true}
  ask_claude
}
ask_claude() {
  ANTHROPIC_BASE_URL="http://$model" ANTHROPIC_API_KEY=x ENABLE_TOOL_SEARCH=false CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
    run claude "$(words 'Claude Code' 3)"
}
opencode() {
  workspace opencode
  typed opencode "$(words opencode 1)"
  words opencode 2 > opencode.json
  mkdir -p "$HOME/.config/opencode"
  cat > "$HOME/.config/opencode/opencode.json" <<JSON
{"autoupdate": false, "model": "local/scripted", "small_model": "local/scripted", "permission": {"*": "allow"},
 "provider": {"local": {"npm": "@ai-sdk/openai-compatible", "name": "local", "models": {"scripted": {"name": "scripted"}},
   "options": {"baseURL": "http://$model/v1", "apiKey": "x"}}}}
JSON
  ask_opencode
}
ask_opencode() { OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1 run opencode "$(words opencode 3)"; }

# The editors cannot run here, so the inspector starts what their entry says, in
# another folder, as they may.
editor() { # editor NAME KEY
  workspace "$2"
  typed inspector "$(words "$1" 1)" > "$scratch/$2.out" 2>&1 || fail "$1: $(cat "$scratch/$2.out")"
  local args
  args=$(words "$1" 2 | tr -d '\n' | sed -n 's/.*"args": *\[\([^]]*\)\].*/\1/p' | tr -d '",')
  args=${args//'${workspaceFolder}'/$scratch/$2}
  cd /
  inspect() { client inspector mcp-inspector --cli callgate $args "$@"; }
  expect '"mcp_files__read_text_file"' inspect --method tools/list
  expect 'hello' inspect --method tools/call --tool-name mcp_files__read_text_file --tool-arg path=greeting.txt head=1
  args="$args --mode discovery"
  expect 'read_text_file' inspect --method tools/call --tool-name search_tools --tool-arg 'query=lire un fichier'
  cd "$root"; entries+=("$2")
}
ended() { # ended NAME PID: a client made all its steps
  wait "$2" || fail "$1 ended badly: $(tail -c 4000 "$scratch/$1.out")"
  expect 'ALL STEPS WERE MADE' cat "$scratch/$1.out"
  expect 'written' cat "$scratch/$1/note.txt"
  expect 'kept' cat "$scratch/$1/kept.txt"
}
again() { # again NAME CLIENT: in a new session, with nobody to ask, what was remembered runs
  cd "$scratch/$1"; rm kept.txt
  if ! model=$later "ask_$2" > "$scratch/$1.later" 2>&1; then fail "$1 ended badly, the second time: $(tail -c 4000 "$scratch/$1.later")"; fi
  expect 'IT RAN UNASKED' cat "$scratch/$1.later"
  expect 'kept' cat kept.txt
  cd "$root"; remembered+=("$1")
}
start() { # start NAME COMMAND…: sets pid
  "${@:2}" > "$scratch/$1.out" 2>&1 & pid=$!; pids+=("$pid")
}

# 1. Answered in the client's form. Of these clients Claude Code alone can be made to
# answer it without a person, by a hook; Codex exec and opencode run show no form.
hook() {
  mkdir -p .claude
  printf '%s' '{"hooks": {"Elicitation": [{"hooks": [{"type": "command", "command": "node ./answer"}]}]}}' > .claude/settings.json
  cat > answer <<'JS'
const text = require('fs').readFileSync(0, 'utf8');
require('fs').appendFileSync('asked.json', text + '\n');
const choices = o => o && typeof o === 'object' ? o.remember?.enum ?? Object.values(o).map(choices).find(c => c) : undefined;
const content = {approve: true};
if (text.includes('kept.txt')) content.remember = choices(JSON.parse(text))[1]; // the first is: once
console.log(JSON.stringify({hookSpecificOutput: {hookEventName: 'Elicitation', action: 'accept', content}}));
JS
}
if here claude; then
  start claude-form claude claude-form hook; ended claude-form "$pid"; form+=(claude)
  expect 'write_file' cat "$scratch/claude-form/asked.json"
fi

# 2. Answered from another terminal, by a person who is none of the clients, and the
# second write with a yes that lasts.
human() {
  local id how
  until [ -S "$state/kernel.sock" ]; do sleep 0.1; done
  while sleep 0.2; do
    for id in $(callgate approvals list --json 2>/dev/null | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p'); do
      how=; ! callgate approvals show "$id" | grep -q 'kept\.txt' || how='--remember exact'
      "$scratch/person" callgate approvals approve "$id" $how || true
    done
  done
}
human > "$scratch/human.log" 2>&1 & human=$!; pids+=("$human")
running=()
for name in codex claude opencode; do
  here "$name" || continue
  start "$name" "$name"; running+=("$name:$pid")
done
for one in "${running[@]}"; do ended "${one%:*}" "${one#*:}"; terminal+=("${one%:*}"); done

kill "$human"; wait "$human" 2>/dev/null || true

# 3. Remembered: each client once more, in a new session, with the form's hook gone and
# nobody at a terminal.
settings_of() { # settings_of CLIENT: where it says which model to ask
  [ "$1" = codex ] && echo "$HOME/.codex/config.toml" || echo "$HOME/.config/opencode/opencode.json"
}
if here claude; then
  rm -r "$scratch/claude-form/.claude"
  again claude-form claude
fi
for name in "${terminal[@]}"; do
  [ "$name" = claude ] || sed -i "s/$model/$later/" "$(settings_of "$name")"
  again "$name" "$name"
done

if here inspector; then
  editor Cursor cursor
  editor 'VS Code' vscode
fi

# A client of the agent client protocol drives an agent of ours: it is shown a call, and its
# human's no and yes count.
if here acpx; then
  workspace acpx
  printf 'tools: {capabilities: {default_policy: approve}}\n' > callgate.yaml
  drive() { (client acpx acpx --cwd "$scratch/acpx" --agent 'callgate acp' "$@"); }
  expect 'hello' drive --approve-all exec 'read greeting.txt'
  drive --deny-all exec 'write "beta" to b.txt' >/dev/null 2>&1 || true
  [ ! -e b.txt ] || fail 'acpx: what its human refused was done'
  expect 'created b.txt' drive --approve-all exec 'write "beta" to b.txt'
  [ -e b.txt ] || fail 'acpx: what its human allowed was not done'
  editors=acpx
fi

# The journal has it all: the call as it was mended, the question, the answer,
# and the end, of each client.
journal=$(callgate log tail -n 500 --json)
recorded() { # recorded NAME WORDS…: one record has all the words
  local left=$journal name=$1 word; shift
  for word; do left=$(grep -F -- "$word" <<<"$left") || fail "$name: no record has $*"; done
}
for name in "${terminal[@]}"; do
  recorded "$name" "\"agent\":\"$name" '"kind":"ended"' '"tool":"mcp_files:read_text_file@' '"head":1' '"status":"success"'
  recorded "$name" "\"agent\":\"$name" '"kind":"asked"' "$scratch/$name" '"tool":"mcp_files:write_file@'
  recorded "$name" "\"agent\":\"$name" '"kind":"answered"' '"verdict":"approved"'
  recorded "$name" "\"agent\":\"$name" '"kind":"ended"' '"tool":"mcp_files:write_file@' '"status":"success"'
  recorded "$name" "\"agent\":\"$name" '"kind":"asked"' '"reason":"grant ' "$scratch/$name"
done
for name in "${!package[@]}"; do here "$name" || echo "clients: $name was passed over, it cannot be installed here"; done
[ $((${#terminal[@]} + ${#entries[@]})) -gt 0 ] || { echo 'clients: skipped, none can be installed from npm here'; exit 0; }
expect 'intact' callgate log verify
echo "clients: passed; answered in the client's form: ${form[*]}; from another terminal: ${terminal[*]};" \
  "remembered: ${remembered[*]}; entries of editors: ${entries[*]}; over ACP: ${editors:-none}"
