#!/usr/bin/env bash
# Installs what the tests use and Go does not bring. Nothing here is needed to
# build or to run; a tool that cannot be had is named, and its tests skip.
set -uo pipefail
missing=()
need() { command -v "$1" >/dev/null || missing+=("${@:2}"); }
need rg ripgrep
need gcc gcc libc6-dev # the race detector needs cgo
need git git
need openssl openssl # makes the key that a guide shows
need ip iproute2
need iptables iptables # cuts the links between nodes
need tmux tmux
need chromium chromium
command -v pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || missing+=(postgresql)
[ -x /usr/sbin/mariadbd ] || command -v mariadbd >/dev/null || missing+=(mariadb-server)
command -v espeak-ng >/dev/null || missing+=(espeak-ng)
[ -x /usr/sbin/dovecot ] || command -v dovecot >/dev/null || missing+=(dovecot-imapd)
[ -x /usr/sbin/exim4 ] || command -v exim4 >/dev/null || missing+=(exim4-daemon-light)
need radicale radicale
need pylsp python3-pylsp python3-pyflakes
# gopls comes as Go programs do, at the version that the tests were written against.
command -v gopls >/dev/null || [ -x "$(go env GOPATH)/bin/gopls" ] || go install golang.org/x/tools/gopls@v0.23.0 >/dev/null 2>&1 ||
  echo "deps: could not install gopls; try: go install golang.org/x/tools/gopls@v0.23.0 (its tests skip until then)" >&2
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null; then
  echo "deps: please install: ${missing[*]} (no apt-get here); their tests skip until then" >&2
  exit 0
fi
sudo=''; [ "$(id -u)" -eq 0 ] || sudo='sudo -n'
echo "deps: installing ${missing[*]}"
$sudo apt-get update -qq >/dev/null 2>&1
if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
  for one in "${missing[@]}"; do # what can be had of them
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$one" >/dev/null 2>&1 ||
      echo "deps: could not install $one; try: sudo apt-get install $one (its tests skip until then)" >&2
  done
fi
exit 0
