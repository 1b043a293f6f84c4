#!/usr/bin/env bash
# Checks what Callgate is deployed with.
#
#   scripts/deploycheck.sh short   the tests of scripts/image: seconds, part of make test
#   scripts/deploycheck.sh files   reads the files of deploy/ with the parser of Compose, with kustomize and with the types
#                                  of Kubernetes; a minute or more at the first time
#   scripts/deploycheck.sh image   runs the image of make image with a real runtime, as its own user: needs umoci, runc
#                                  and root; image-debian does the same with that of make image-debian
set -euo pipefail
cd "$(dirname "$0")/.."

# modules runs the tests of a module of its own. Where its dependencies cannot be had, that is said.
modules() {
  if ! (cd "$1" && timeout 120 go mod download >/dev/null 2>&1); then
    echo "deploycheck: the modules of $1 cannot be had here: its tests are skipped" >&2
    return 0
  fi
  (cd "$1" && go vet . && go test -count=1 .) # what they read lies outside of the module, where nothing sees it change
}

# image unpacks an image (a folder and a tag) and runs it on a volume as Kubernetes hands it over: the folder is root's,
# and the user's group may write to it.
image() {
  for tool in umoci runc; do
    command -v $tool >/dev/null || { echo "deploycheck: $tool is missing: the image is not run" >&2; return 0; }
  done
  [ "$(id -u)" = 0 ] || { echo "deploycheck: not root: the image is not run" >&2; return 0; }
  local work name=callgate-check-$$
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # now, while they are known
  trap "runc --root $work/run delete -f $name >/dev/null 2>&1 || true; rm -rf $work" EXIT
  umoci unpack --image "$1:$2" "$work/bundle"
  mkdir -p "$work/volume"
  chown 0:65532 "$work/volume"
  chmod 2775 "$work/volume"
  chmod 755 "$work"
  python3 - "$work" "${3:-}" <<'PYTHON'
import json, sys
path = sys.argv[1] + "/bundle/config.json"
c = json.load(open(path))
p = c["process"]
assert p["user"]["uid"] == 65532 and p["args"] == ["/usr/bin/callgate", "up"], p
p["terminal"], p["noNewPrivileges"] = False, True
p["capabilities"] = {kind: [] for kind in p["capabilities"]}
c["root"]["readonly"] = True
c["mounts"] = [m for m in c["mounts"] if m["destination"] not in ("/var/lib/callgate", "/tmp")] + [
    {"destination": "/var/lib/callgate", "type": "none", "source": sys.argv[1] + "/volume", "options": ["bind", "rw"]},
    {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}]
json.dump(c, open(path, "w"))
PYTHON
  local in=(timeout 60 runc --root "$work/run")
  "${in[@]}" run -d -b "$work/bundle" $name >"$work/log" 2>&1 </dev/null || { cat "$work/log"; return 1; }
  local tries=0
  until "${in[@]}" exec $name /usr/bin/callgate ready >"$work/said" 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || { echo "deploycheck: it is not ready"; cat "$work/said" "$work/log"; return 1; }
    sleep 1
  done
  "${in[@]}" exec $name /usr/bin/callgate version
  local pid
  pid=$("${in[@]}" state $name | python3 -c 'import json,sys; print(json.load(sys.stdin)["pid"])')
  nsenter -t "$pid" -n curl -sf -m 10 http://127.0.0.1:7420/readyz
  # A call through the gate: the workspace is the folder of the image.
  "${in[@]}" exec $name /usr/bin/callgate tools call filesystem.list --path /workspace
  if [ "${3:-}" = debian ]; then
    # doctor runs a command inside the walls.
    "${in[@]}" exec $name /usr/bin/callgate doctor >"$work/said" || true
    grep -E '✓ (rg|bash|git|confinement) ' "$work/said" | tee "$work/found"
    [ "$(wc -l <"$work/found")" = 4 ] || { cat "$work/said"; return 1; }
  fi
  "${in[@]}" kill $name TERM
  tries=0
  while kill -0 "$pid" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 30 ] || { echo "deploycheck: it does not end when it is told to"; return 1; }
    sleep 1
  done
  [ "$(stat -c %u:%a "$work/volume/state")" = 65532:2700 ] || { stat "$work/volume/state"; return 1; }
  echo "deploycheck: $1:$2 runs as user 65532, read-only, without capabilities, and ends when it is told to"
}

version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/version/version.go)
case ${1:-short} in
short) modules scripts/image ;;
files) modules deploy/check ;;
image) image dist/image "$version-$(go env GOARCH)" ;;
image-debian) image dist/image-debian "$version-debian-$(go env GOARCH)" debian ;;
*) sed -n 's/^#   //p' "$0"; exit 2 ;;
esac
