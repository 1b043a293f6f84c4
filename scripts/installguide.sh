#!/usr/bin/env bash
# Runs every command of docs/guides/install.md, in order, in a home of its own, and looks at
# what they left. A person is played where one must type a code; packages go into a root of
# their own; there is no systemd.
set -euo pipefail
root=$(pwd)
scratch=$(mktemp -d /tmp/callgate-guide.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
GOMODCACHE=$(go env GOMODCACHE) GOCACHE=$(go env GOCACHE) GOPATH=$(go env GOPATH)
export GOMODCACHE GOCACHE GOPATH
export HOME=$scratch/home PATH="$scratch/bin:$PATH" CALLGATE_KEYRING=off
unset CALLGATE_STATE XDG_CONFIG_HOME XDG_STATE_HOME DESTDIR PREFIX
mkdir -p "$HOME" "$scratch/bin" "$scratch/root/var/lib/dpkg"/{info,updates,triggers}
touch "$scratch/root/var/lib/dpkg/"{status,available}
. scripts/programs.sh
printf '#!/bin/sh\necho there is no systemd here >&2\nexit 1\n' > "$scratch/bin/systemctl"
printf '#!/bin/sh\nexec "$@"\n' > "$scratch/bin/sudo"
printf '#!/bin/sh\nexec %s --root=%s --force-not-root --log=/dev/null "$@"\n' "$(command -v dpkg)" "$scratch/root" > "$scratch/bin/dpkg"
chmod +x "$scratch/bin/"*

fail() { echo "install guide: $*" >&2; exit 1; }
person() { "$root/bin/person" "$@"; }
# after COMMAND: what must be true now.
after() {
  case $1 in
  'make install '*)
    [ -x "$HOME/.local/bin/callgate" ] && [ -f "$HOME/.local/share/man/man1/callgate-tools-call.1" ] || fail 'not installed'
    bash -c '. "$HOME/.local/share/bash-completion/completions/callgate"; complete -p callgate' >/dev/null || fail 'no completion' ;;
  'sudo dpkg -i '*)
    "$scratch/root/usr/bin/callgate" version
    [ "$("$scratch/root/usr/bin/callgate" uninstall --json | grep -c 'sudo apt-get remove callgate')" -gt 100 ] || fail 'the package does not know itself' ;;
  'sudo dpkg -P '*)
    left=$(find "$scratch/root" -path "*/var/*" -prune -o -type f -print | wc -l)
    [ "$left" -eq 0 ] || fail "the package left $left files" ;;
  'callgate service install') [ -f "$HOME/.config/systemd/user/callgate.service" ] || fail 'no unit' ;;
  'callgate service remove --yes') [ ! -e "$HOME/.config/systemd/user/callgate.service" ] || fail 'the unit stays' ;;
  'callgate uninstall --yes')
    [ ! -e "$HOME/.local/bin/callgate" ] || fail 'the program stays'
    [ -z "$(find "$HOME/.local/share" -type f)" ] || fail "these stay: $(find "$HOME/.local/share" -type f)"
    [ -d "$HOME/.local/state/callgate" ] || fail 'the state directory is gone' ;;
  esac
}

cd "$root"
ran=0
fenced=
while IFS= read -r line <&3; do
  case $line in
  '```sh') fenced=yes; continue ;;
  '```'*) fenced=; continue ;;
  esac
  [ -n "$fenced" ] || continue
  case $line in
  *dpkg*) command -v dpkg-deb >/dev/null || { echo "install guide: skipped, there is no dpkg: $line"; continue; } ;;
  esac
  echo "+ $line"
  case $line in
  'callgate service install') person callgate service install || fail "$line" ;;
  *) eval "$line" || fail "$line" ;;
  esac
  after "$line"
  ran=$((ran + 1))
done 3< docs/guides/install.md
[ "$ran" -ge 15 ] || fail "only $ran commands were found"
echo "install guide: $ran commands ran"
