#!/usr/bin/env bash
# install.sh install PROGRAM | uninstall
# Puts the program, its completions and its manual pages under $DESTDIR$PREFIX, or takes
# them away again: what make install and make uninstall do.
set -euo pipefail
what=$1
to=${DESTDIR:-}${PREFIX:-/usr/local}
bash_=$to/share/bash-completion/completions/callgate
zsh_=$to/share/zsh/site-functions/_callgate
fish_=$to/share/fish/vendor_completions.d/callgate.fish
man_=$to/share/man/man1

# put FILE MODE: what comes on standard input, whole or not at all.
put() {
  mkdir -p "$(dirname "$1")"
  cat > "$1.new"; chmod "$2" "$1.new"; mv -f "$1.new" "$1"
}

# pages: the manual pages that are Callgate's by what they say.
pages() {
  for page in "$man_"/callgate.1 "$man_"/callgate-*.1; do
    [ -f "$page" ] && head -n 3 "$page" | grep -q '^\.TH "CALLGATE' && printf '%s\0' "$page"
  done
  true
}

case $what in
install)
  program=$2
  put "$to/bin/callgate" 755 < "$program"
  "$program" completion bash | put "$bash_" 644
  "$program" completion zsh | put "$zsh_" 644
  "$program" completion fish | put "$fish_" 644
  new=$(mktemp -d); trap 'rm -rf "$new"' EXIT
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)} \
    "${GO:-go}" run -trimpath ./scripts/manual "$new"
  pages | xargs -0 rm -f # those of commands that are no more
  for page in "$new"/*.1; do put "$man_/$(basename "$page")" 644 < "$page"; done
  echo "installed $to/bin/callgate, completions for bash, zsh and fish, and $(ls "$new" | wc -l | tr -d ' ') manual pages"
  ;;
uninstall)
  pages | xargs -0 rm -f
  rm -f "$to/bin/callgate" "$bash_" "$zsh_" "$fish_"
  echo "removed $to/bin/callgate, its completions and its manual pages"
  echo 'the state directory and services stay: callgate uninstall, run before this, tells of them'
  ;;
*) echo "usage: install.sh install PROGRAM | uninstall" >&2; exit 2 ;;
esac
