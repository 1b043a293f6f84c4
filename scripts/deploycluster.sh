#!/usr/bin/env bash
# Runs the three nodes of deploy/compose.yaml with runc, in the image of make image, against a PostgreSQL of this machine,
# and replaces one of them. It needs root, umoci, runc, iproute2 and PostgreSQL; what is missing is said.
#
#   scripts/deploycluster.sh           PROGRAM=bin/callgate runs that program in the place of the image's own
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in umoci runc ip psql curl openssl python3; do
  command -v $tool >/dev/null || { echo "deploycluster: $tool is missing: nothing is run" >&2; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "deploycluster: not root: nothing is run" >&2; exit 0; }
pgbin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[ -n "$pgbin" ] || { echo "deploycluster: PostgreSQL is missing: nothing is run" >&2; exit 0; }
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/version/version.go)
work=$(mktemp -d) name=callgate-check-$$
in=(timeout 60 runc --root "$work/run")

end() {
  for i in 1 2 3; do "${in[@]}" delete -f $name-$i >/dev/null 2>&1 || true; done
  runuser -u postgres -- "$pgbin/pg_ctl" -D "$work/pg" -m immediate stop >/dev/null 2>&1 || true
  ip netns del $name 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
sql() {
  PGPASSWORD=$(cat "$work/secrets/postgres-password") ip netns exec $name psql -h 127.0.0.1 -U callgate -qAt "$@"
}

# All of them are in one network without a way out, as the compose file's database is.
ip netns add $name
ip netns exec $name ip link set lo up
chmod 755 "$work"
deploy/secrets.sh "$work/secrets"
chmod 755 "$work/secrets" # runc mounts the folder, where compose mounts each file
install -d -o postgres "$work/pg"
runuser -u postgres -- "$pgbin/initdb" -D "$work/pg" -U callgate -A scram-sha-256 \
  --pwfile="$work/secrets/postgres-password" >/dev/null
ip netns exec $name runuser -u postgres -- "$pgbin/pg_ctl" -D "$work/pg" -w -l "$work/pg/log" \
  -o "-c listen_addresses=127.0.0.1 -c port=5432 -c unix_socket_directories=$work/pg" start >/dev/null
sql -d postgres -c 'CREATE DATABASE callgate'
printf '127.0.0.1 localhost postgres\n' >"$work/hosts"
umoci unpack --image "dist/image:$version-$(go env GOARCH)" "$work/image"
[ -z "${PROGRAM:-}" ] || cp "$PROGRAM" "$work/image/rootfs/usr/bin/callgate"

# config I: the container of a node, with the address of the database that the compose file has.
config() {
  mkdir -p "$work/node$1" "$work/volume$1"
  chown 0:65532 "$work/volume$1"
  chmod 2775 "$work/volume$1"
  python3 - "$work" "$1" "/run/netns/$name" "$(sed -n 's/^ *CALLGATE_DATABASE: //p' deploy/compose.yaml)" <<'PYTHON'
import json, sys
work, i, net, url = sys.argv[1:]
c = json.load(open(work + "/image/config.json"))
p = c["process"]
p["args"] = ["/usr/bin/callgate", "up", "--listen", f"127.0.1.{i}:7420", "--host", "localhost",
             "--tls-cert", "/run/secrets/tls.crt", "--tls-key", "/run/secrets/tls.key"]
p["env"] += ["CALLGATE_DATABASE=" + url, "CALLGATE_USER_SECRETS_KEY_FILE=/run/secrets/cluster-key"]
p["terminal"] = False
p["capabilities"] = {kind: [] for kind in p["capabilities"]}
c["hostname"] = "node" + i
c["root"] = {"path": work + "/image/rootfs", "readonly": True}
c["linux"]["namespaces"] = [n for n in c["linux"]["namespaces"] if n["type"] != "network"]
c["linux"]["namespaces"].append({"type": "network", "path": net})
def bind(to, source, mode):
    return {"destination": to, "type": "none", "source": source, "options": ["bind", mode]}
ours = ("/var/lib/callgate", "/tmp", "/run", "/etc/hosts", "/etc/resolv.conf")
c["mounts"] = [m for m in c["mounts"] if m["destination"] not in ours] + [
    bind("/var/lib/callgate", f"{work}/volume{i}", "rw"), bind("/run/secrets", work + "/secrets", "ro"),
    bind("/etc/hosts", work + "/hosts", "ro"),
    {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}]
json.dump(c, open(f"{work}/node{i}/config.json", "w"))
PYTHON
}

# await I: until a node is ready, as its health check and as a probe see it.
await() {
  local tries=0
  until "${in[@]}" exec $name-$1 /usr/bin/callgate ready >"$work/said" 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || { cat "$work/said" "$work/log$1"; return 1; }
    sleep 1
  done
  ip netns exec $name curl -skf -m 10 -H 'Host: localhost' "https://127.0.1.$1:7420/readyz" >/dev/null
  "${in[@]}" exec $name-$1 /usr/bin/callgate tools call filesystem.list --path /workspace >/dev/null 2>&1
  "${in[@]}" exec $name-$1 /usr/bin/callgate log verify
}

start() { "${in[@]}" run -d -b "$work/node$1" $name-$1 >"$work/log$1" 2>&1 </dev/null || { cat "$work/log$1"; return 1; }; }
for i in 1 2 3; do config $i; start $i; done
for i in 1 2 3; do await $i; done

pid=$("${in[@]}" state $name-2 | python3 -c 'import json,sys; print(json.load(sys.stdin)["pid"])')
"${in[@]}" kill $name-2 TERM
for _ in $(seq 30); do kill -0 "$pid" 2>/dev/null || break; sleep 1; done
"${in[@]}" delete $name-2
start 2
await 2

nodes=$(sql -d callgate -c "SELECT string_agg(name || ' ' || state, ', ' ORDER BY name) FROM callgate.nodes WHERE lease_until > now()")
[ "$nodes" = "node1 up, node2 up, node3 up" ] || { echo "the nodes are: $nodes"; exit 1; }
if grep -rlF "$(cat "$work/secrets/postgres-password")" "$work"/volume* "$work"/log*; then
  echo "deploycluster: the password is in these files"; exit 1
fi
echo "deploycluster: three nodes on one PostgreSQL, one of them replaced: $nodes"
