#!/usr/bin/env bash
# Installs what the tests use and Go does not bring. Nothing here is needed to
# build or to run; a tool that cannot be had is named, and its tests skip.
set -uo pipefail
missing=()
command -v rg >/dev/null || missing+=(ripgrep)
command -v gcc >/dev/null || missing+=(gcc libc6-dev) # the race detector needs cgo
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null; then
  echo "deps: please install: ${missing[*]} (no apt-get here); their tests skip until then" >&2
  exit 0
fi
sudo=''; [ "$(id -u)" -eq 0 ] || sudo='sudo -n'
echo "deps: installing ${missing[*]}"
if ! { $sudo apt-get update -qq && $sudo DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >/dev/null 2>&1; then
  echo "deps: could not install ${missing[*]}; try: sudo apt-get install ${missing[*]} (their tests skip until then)" >&2
fi
exit 0
