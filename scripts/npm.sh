#!/usr/bin/env bash
# Installs packages from npm that the tests use, below .scratch/npm/ or $CALLGATE_NPM.
#
#   scripts/npm.sh servers       four MCP servers
#   scripts/npm.sh conformance   the MCP conformance suite, with the Node it needs
#   scripts/npm.sh axe           axe-core, which checks the console for accessibility
#   scripts/npm.sh               all of them, side by side
#
# Exit code 1: npm is not installed, or a package cannot be had. The reason is on standard error.
set -uo pipefail
cd "$(dirname "$0")/.."
root=${CALLGATE_NPM:-.scratch/npm}

# get NAME FOLDER CHECK PACKAGE…: CHECK is a command that succeeds once the packages are there.
get() {
  local name=$1 folder=$2 check=$3 log; shift 3
  bash -c "$check" >/dev/null 2>&1 && return
  command -v npm >/dev/null || { echo "npm: $name is not installed: npm is missing (apt-get install npm)" >&2; return 1; }
  mkdir -p "$folder"
  log=$folder/install.log
  timeout 180 npm install --prefix "$folder" --no-fund --no-audit --fetch-retries 1 "$@" >"$log" 2>&1 && bash -c "$check" >/dev/null 2>&1 ||
    { echo "npm: $name cannot be installed: $(grep -v '^npm \(verbose\|notice\)' "$log" | tail -1) (all of it: $log)" >&2; return 1; }
}

servers() {
  get servers "$root" "test -x $root/node_modules/.bin/mcp-server-everything" @modelcontextprotocol/server-everything \
    @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory @modelcontextprotocol/server-sequential-thinking
}
conformance() { # the version is fixed, so that a newer suite cannot fail a test here
  get conformance "$root/conformance" "$root/conformance/node_modules/.bin/node --version" @modelcontextprotocol/conformance@0.2.0-alpha.12 node@22
}
axe() { get axe "$root/axe" "test -e $root/axe/node_modules/axe-core/axe.min.js" axe-core@4.10.3; }

case ${1:-all} in
servers | conformance | axe) "$1" ;;
all)
  servers & first=$!
  conformance & second=$!
  axe; failed=$?
  wait $first || failed=1
  wait $second || failed=1
  exit $failed ;;
*) sed -n 's/^#   //p' "$0"; exit 2 ;;
esac
