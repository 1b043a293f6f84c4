#!/usr/bin/env bash
# Drives real MCP servers from npm through the real program: over stdio, contained
# and sandboxed, over streamable HTTP and over the older SSE, all at once. Without npm, or without a
# registry in reach, it says so and passes.
set -euo pipefail
root=$(pwd)
export PATH="$root/bin:$PATH" NO_COLOR=1
scripts/npm.sh servers || { echo 'servers: skipped'; exit 0; }
bin=$(cd "${CALLGATE_NPM:-.scratch/npm}/node_modules/.bin" && pwd)
. scripts/programs.sh
scratch=$(mktemp -d)
pids=()
finish() { for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; rm -rf "$scratch"; }
trap finish EXIT

expect() { # expect WORDS COMMAND…: the command's output holds the words
  local words=$1 out; shift
  out=$("$@" 2>&1) || true
  grep -qF -- "$words" <<<"$out" || { printf 'servers: %s\n  wanted: %s\n  got: %s\n' "$*" "$words" "$out" >&2; exit 1; }
}

# A port that nobody has, and a server on it.
serve() { # serve KIND: sets port
  for _ in 1 2 3; do
    port=$(( 20000 + RANDOM % 12000 ))
    PORT=$port "$bin/mcp-server-everything" "$1" >"$scratch/$1.log" 2>&1 & pids+=($!)
    for _ in $(seq 200); do
      (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return 0
      kill -0 $! 2>/dev/null || break # the port was taken after all
      sleep 0.1
    done
  done
  echo "servers: $1 did not come up: $(cat "$scratch/$1.log")" >&2; exit 1
}

export CALLGATE_STATE="$scratch/state"
mkdir "$scratch/work"; cd "$scratch/work"
printf 'hello\n' > a.txt
printf 'tools:\n  capabilities: {default_policy: auto}\n' > callgate.yaml
expect 'accepted' person callgate app trust
expect '15 tools' person callgate mcp add everything -- "$bin/mcp-server-everything"
expect 'can be used' person callgate mcp add files -- "$bin/mcp-server-filesystem" "$scratch/work"
expect 'can be used' person callgate mcp add memory --env "MEMORY_FILE_PATH=$scratch/memory.json" -- "$bin/mcp-server-memory"
expect 'can be used' person callgate mcp add thinking -- "$bin/mcp-server-sequential-thinking"
# The same four once more, in the sandbox: their folder, their packages, no network.
expect '15 tools' person callgate mcp add everything2 --isolation sandboxed -- "$bin/mcp-server-everything"
expect 'can be used' person callgate mcp add files2 --isolation sandboxed -- "$bin/mcp-server-filesystem" "$scratch/work"
expect 'can be used' person callgate mcp add memory2 --isolation sandboxed --env "MEMORY_FILE_PATH=$scratch/work/memory.json" -- "$bin/mcp-server-memory"
expect 'can be used' person callgate mcp add thinking2 --isolation sandboxed -- "$bin/mcp-server-sequential-thinking"
serve streamableHttp; expect 'can be used' person callgate mcp add web --url "http://127.0.0.1:$port/mcp"
serve sse; expect 'can be used' person callgate mcp add oldweb --url "http://127.0.0.1:$port/sse"

# One kernel, all servers at once.
callgate up > "$scratch/up.log" 2>&1 & kernel=$!; pids+=($kernel)
until [ -S "$CALLGATE_STATE/kernel.sock" ]; do sleep 0.05; done
expect 'mcp_files.read_text_file' callgate tools list
expect 'hello' callgate tools call mcp_files.read_text_file --path "$scratch/work/a.txt"
expect 'The sum of 3 and 4 is 7' callgate tools call mcp_everything.get-sum --args '{"a":"3","b":"4"}'
expect 'The sum of 3 and 4 is 7' callgate tools call mcp_web.get-sum --a 3 --b 4
expect 'Echo: hi' callgate tools call mcp_oldweb.echo --message hi
expect 'Ada' callgate tools call mcp_memory.create_entities --args '{"entities":[{"name":"Ada","entityType":"person","observations":["writes programs"]}]}'
expect 'writes programs' callgate tools call mcp_memory.read_graph
expect 'thoughtNumber' callgate tools call mcp_thinking.sequentialthinking --args '{"thought":"think","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}'
expect 'The sum of 3 and 4 is 7' callgate tools call mcp_everything2.get-sum --a 3 --b 4
expect 'hello' callgate tools call mcp_files2.read_text_file --path "$scratch/work/a.txt"
expect 'Ada' callgate tools call mcp_memory2.create_entities --args '{"entities":[{"name":"Ada","entityType":"person","observations":["writes programs"]}]}'
expect 'writes programs' callgate tools call mcp_memory2.read_graph
expect 'thoughtNumber' callgate tools call mcp_thinking2.sequentialthinking --args '{"thought":"think","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}'
expect 'completed' callgate tools call mcp_everything.trigger-long-running-operation --duration 1 --steps 2
expect 'architecture.md' callgate mcp resources everything
expect 'weather in Paris' callgate mcp prompts everything args-prompt city=Paris
expect 'mcp_files.read' callgate search 'lire un fichier' -n 8
expect 'running' callgate mcp servers
expect 'discovery' callgate plan --window 8000 --mode discovery

# No server reads the kernel's state, whatever folder it was given.
expect 'can be used' person callgate mcp add all -- "$bin/mcp-server-filesystem" /
if callgate tools call mcp_all.read_text_file --path "$CALLGATE_STATE/human.key" >/dev/null 2>&1; then echo 'servers: the key of the human was read' >&2; exit 1; fi
expect 'hello' callgate tools call mcp_all.read_text_file --path "$scratch/work/a.txt"

# A server that is killed comes back; a kernel that is killed leaves nothing.
node=$(pgrep -f "$bin/mcp-server-filesystem $scratch/work" | head -1)
kill -9 "$node"
for _ in $(seq 100); do kill -0 "$node" 2>/dev/null || break; sleep 0.05; done # a call that meets the death is told so
expect 'hello' callgate tools call mcp_files.read_text_file --path "$scratch/work/a.txt"
kill -9 "$kernel"; wait "$kernel" 2>/dev/null || true
for _ in $(seq 100); do pgrep -f "$bin/mcp-server-(filesystem|memory|sequential-thinking)" >/dev/null || break; sleep 0.1; done
if pgrep -af "$bin/mcp-server-(filesystem|memory|sequential-thinking)"; then echo 'servers: processes are left behind' >&2; exit 1; fi
expect 'intact' callgate log verify
echo 'servers: four over stdio, contained and sandboxed, two over HTTP, all passed'
