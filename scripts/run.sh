#!/usr/bin/env bash
# Starts an agent in a scratch folder that anybody can use at once, with no key.
# Without a terminal it shows one turn and ends.
set -euo pipefail
bin=$(realpath "$1")
scratch=$(pwd)/.scratch
mkdir -p "$scratch/workspace"
cd "$scratch/workspace"
[ -f hello.txt ] || printf 'Hello from the scratch workspace.\nThe door is blue.\n' > hello.txt
[ -f callgate.yaml ] || cat > callgate.yaml <<'APP'
# An app: one agent, what it may use, and what a human must approve.
# "offline" is no language model: it finds tools by your words. For a real one:
#   brain: {provider: anthropic, model: claude-sonnet-4-5, credential: ANTHROPIC_API_KEY}
# and callgate secrets set ANTHROPIC_API_KEY
app: {app_id: scratch, name: Scratch}
agents:
  - id: main
    brain: {provider: offline}
    system_prompt: Be brief.
tools:
  modules: {filesystem: {}, shell: {}, git: {}, memory: {}, web: {}, http: {}}
  capabilities:
    grant: # these run at once; what no rule names asks you first
      - {module: filesystem, actions: [read, list, glob, grep]}
      - {module: git, actions: [status, log, diff, show]}
      - {module: memory}
    approve:
      - {module: filesystem, actions: [write, edit, delete, move]}
      - {module: shell}
APP
export CALLGATE_STATE="$scratch/state"
cat <<MSG

An agent waits in a scratch folder, in this terminal and in your browser. No key is
needed: the brain that answers is the embedded stand-in, which is no language model. Try:

  list the files here
  search for "door" in hello.txt
  write "It was me." to note.txt          it asks you first, and you may edit the call

The same from another terminal:

  export PATH="$(dirname "$bin"):\$PATH" CALLGATE_STATE="$CALLGATE_STATE"; cd "$scratch/workspace"
  callgate tools list; callgate log tail; callgate sessions list

MSG
if [ -t 0 ] && [ -t 1 ]; then
  # The kernel runs as long as this script, and prints a link that opens the console in
  # a browser. Its log is of no use to somebody who looks for the first time.
  "$bin" up 2>/dev/null &
  kernel=$!
  trap 'kill "$kernel" 2>/dev/null; wait "$kernel" 2>/dev/null' EXIT
  echo 'Open the link in a browser, or press Enter for the chat in this terminal.'
  read -r || true
  "$bin" chat
  exit
fi
exec "$bin" run -p 'list the files here then search for "door" in hello.txt'
