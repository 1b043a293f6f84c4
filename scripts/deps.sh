#!/usr/bin/env bash
# Installs what the tests use and Go does not bring. Building and running the program needs
# none of it. What cannot be installed is named with the reason, and its tests are skipped;
# .scratch/missing lists those packages for scripts/check.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .scratch
log=.scratch/deps.log
: > .scratch/missing
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
need npm npm
need minisign minisign
command -v pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || missing+=(postgresql)
[ -x /usr/sbin/mariadbd ] || command -v mariadbd >/dev/null || missing+=(mariadb-server)
need espeak-ng espeak-ng
[ -x /usr/sbin/dovecot ] || command -v dovecot >/dev/null || missing+=(dovecot-imapd)
[ -x /usr/sbin/exim4 ] || command -v exim4 >/dev/null || missing+=(exim4-daemon-light)
need radicale radicale
need pylsp python3-pylsp python3-pyflakes

without() { # without PACKAGE WHY: its tests are skipped
  echo "$1" >> .scratch/missing
  echo "deps: $1 is not installed, and its tests are skipped: $2" >&2
}
# said: the last error of the installer, or its last line.
said() { { grep '^E: ' "$log" || tail -1 "$log"; } | tail -1; }

if [ ${#missing[@]} -gt 0 ]; then
  echo "deps: missing: ${missing[*]}"
  sudo=''; [ "$(id -u)" -eq 0 ] || sudo='sudo -n'
  if ! command -v apt-get >/dev/null; then
    for one in "${missing[@]}"; do without "$one" 'install it with the package manager of this system'; done
  elif [ -n "$sudo" ] && ! $sudo true 2>/dev/null; then
    for one in "${missing[@]}"; do without "$one" "run: sudo apt-get install $one"; done
  else
    echo "deps: installing them with apt-get; this takes a few minutes (output: $log)"
    install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" > "$log" 2>&1; }
    $sudo apt-get update -q > "$log" 2>&1 || echo "deps: apt-get update failed: $(said)" >&2
    if ! install "${missing[@]}"; then
      echo "deps: apt-get install failed: $(said)" >&2
      for one in "${missing[@]}"; do # install the ones that can be
        install "$one" || without "$one" "$(said)"
      done
    fi
  fi
fi

# gopls is a Go program, at the version that the tests were written against.
gopls=golang.org/x/tools/gopls@v0.23.0
if ! command -v gopls >/dev/null && [ ! -x "$(go env GOPATH)/bin/gopls" ]; then
  echo "deps: installing gopls with: go install $gopls"
  CGO_ENABLED=0 go install "$gopls" > "$log" 2>&1 || without gopls "go install $gopls: $(tail -1 "$log")"
fi
exit 0
