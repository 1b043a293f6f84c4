#!/usr/bin/env bash
# Starts a kernel on a scratch workspace and prints three commands to try.
set -euo pipefail
bin=$(realpath "$1")
scratch=$(pwd)/.scratch
mkdir -p "$scratch/workspace"
cd "$scratch/workspace"
[ -f hello.txt ] || printf 'Hello from the scratch workspace.\n' > hello.txt
[ -f callgate.yaml ] || "$bin" init . >/dev/null
export CALLGATE_STATE="$scratch/state"
cat <<MSG

A kernel is starting on a scratch workspace. In another terminal, try:

  export PATH="$(dirname "$bin"):\$PATH" CALLGATE_STATE="$CALLGATE_STATE"; cd "$scratch/workspace"

  callgate tools call filesystem.read --path hello.txt
  callgate tools call Write --path note.txt --content "It was me."     # asks you first
  callgate log tail

Ctrl-C here ends the kernel.

MSG
exec "$bin" up
