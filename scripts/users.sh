#!/usr/bin/env bash
# Runs the suites whose results depend on the user as an ordinary user, with a second,
# hostile user beside it, and the sandbox's suite once more without user namespaces, as in
# a container. "full" adds the suites that start kernels and commands, and runs every suite
# both ways. The script creates the two users, which needs root; without root the suites
# have already run as an ordinary user, and only the second user is missing.
set -euo pipefail
root=$(pwd)
mode=${1:-short}
suites=(sandbox source/mcp/isolation statedir peer ownership)
contained=(sandbox)
if [ "$mode" = full ]; then
  suites+=(module/shell source/executable daemon cli)
  contained=("${suites[@]}")
fi
# Single tests that root skips, because modes do not stop root.
declare -A only=([app]=TestFindInPrivateGroup [kernel/proposals]=TestCannotBeDone [module/filesystem]=TestPermissionIsExplained
  [importer/backup]=TestUnwritable [search/vectorcache]='TestMemoryOnly|TestCompactFails')
if [ "$(id -u)" -ne 0 ]; then
  echo 'users: skipped, making users needs root (the suites ran as an ordinary user already)'
  exit 0
fi
for program in useradd setpriv flock; do
  command -v "$program" >/dev/null || { echo "users: skipped, $program is not here"; exit 0; }
done
user() { # user NAME: an account that can do nothing special
  id "$1" >/dev/null 2>&1 || useradd --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$1"
}
user callgate-tester
user callgate-hostile

# The two accounts are the machine's: a second run waits for the first, and clears what
# one that was killed has left.
exec 9> /tmp/callgate-users.lock
flock -n 9 || { echo 'users: waiting for another run of this script'; flock 9; }
clear_accounts() {
  pkill -KILL -u callgate-hostile 2>/dev/null || true
  pkill -KILL -u callgate-tester 2>/dev/null || true
  find /tmp -maxdepth 1 \( -user callgate-tester -o -user callgate-hostile \) -exec rm -rf {} + 2>/dev/null || true
}
clear_accounts
scratch=$(mktemp -d /tmp/callgate-users.XXXXXX)
trap 'clear_accounts; rm -rf "$scratch"' EXIT
end() { # end: the hostile user stops, and is there to be stopped
  pkill -TERM -u callgate-hostile -x otheruser || { echo 'users: the hostile user had ended by itself:'; cat "$scratch"/{errors,pose} 2>/dev/null; exit 1; }
}

# A copy that the user may read, with the tests compiled: an ordinary user need not
# be able to read this folder, nor have Go.
chmod 711 "$scratch"
mkdir "$scratch/tree" "$scratch/home"
git ls-files -z -- $(printf 'internal/%s ' "${suites[@]}" "${!only[@]}") docs examples go.mod | xargs -0 cp --parents -t "$scratch/tree"
for suite in "${suites[@]}" "${!only[@]}"; do
  go test -c -o "$scratch/tree/internal/$suite/suite" "./internal/$suite" &
  [ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
done
wait
. scripts/programs.sh
cp bin/otheruser bin/callgate "$scratch/"
chown -R callgate-tester: "$scratch/tree" "$scratch/home"
chmod -R go-w "$scratch/tree"

# as USER COMMAND…: with an environment of its own. contain: where user namespaces are
# forbidden besides.
as() { setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps -all "${clean[@]}" USER="$1" "${@:2}" 9>&-; }
contain() { "${clean[@]}" USER="$1" "$scratch/otheruser" contain "$@" 9>&-; }
clean=(env -i HOME="$scratch/home" PATH="$PATH" TMPDIR=/tmp LANG=C.UTF-8)
same='^(TestGuideCommands|TestCommandsOfDocs|TestManual)$' # what the docs say is the same for everybody
run() { # run NAME HOW SUITE…: each suite in its folder
  local name=$1 how=$2 suite; shift 2
  for suite in "$@"; do
    cd "$scratch/tree/internal/$suite"
    if ! "$how" callgate-tester ./suite -test.timeout 8m -test.skip "$same" -test.run "${only[$suite]:-.}" > "$scratch/log" 2>&1; then
      echo "users: $suite fails $name:"; grep -a -A12 -- '--- FAIL\|^panic\|^FAIL' "$scratch/log" | head -150; [ -n "${KEEP:-}" ] || exit 1
    fi
  done
  cd "$root"
  echo "users: $* pass $name"
}

# The hostile user looks, reads, speaks to sockets and lays links, all the while.
install -o callgate-tester -m 640 /dev/null "$scratch/home/sentinel"
as callgate-hostile "$scratch/otheruser" prowl callgate-tester "$scratch/home/sentinel" > "$scratch/prowl" 2>> "$scratch/errors" & hostile=$!
run 'as an ordinary user, with a hostile one beside' as "${suites[@]}" "${!only[@]}"
end; wait "$hostile" || { cat "$scratch/errors"; exit 1; }
[ ! -s "$scratch/prowl" ] || { echo 'users: the hostile user succeeded:'; sort "$scratch/prowl" | uniq -c | head -20; exit 1; }

# The hostile user was first where the socket of a long path lies, and is sent nothing.
long=$scratch/home/$(printf 'a-long-name/%.0s' {1..10})state
socket=/tmp/callgate-$(id -u callgate-tester)/$(printf %s "$long" | sha256sum | cut -c1-16).sock
rm -rf "$(dirname "$socket")"
as callgate-hostile "$scratch/otheruser" pose "$socket" > "$scratch/posed" 2> "$scratch/pose" & hostile=$!
until grep -q ready "$scratch/pose"; do kill -0 "$hostile"; sleep 0.05; done
refused=$(cd "$scratch/home" && as callgate-tester "$scratch/callgate" --state "$long" tools call Read --path sentinel 2>&1) &&
  { echo "users: a command went on beside another user's socket: $refused"; exit 1; }
grep -q 'callgate-hostile' <<<"$refused" || { echo "users: the refusal does not name the other user: $refused"; exit 1; }
end; wait "$hostile" || true
[ ! -s "$scratch/posed" ] || { echo 'users: the hostile user was sent something:'; cat "$scratch/posed"; exit 1; }
rm -rf "$(dirname "$socket")"
echo "users: another user's socket is sent nothing"

run 'without user namespaces, as in a container' contain "${contained[@]}"
