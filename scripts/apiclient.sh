#!/usr/bin/env bash
# A client that a common generator (openapi-ts) makes of our OpenAPI document, against a real kernel: it lists
# tools, calls one, has a call approved, follows and reads the journal (scripts/apiclient/main.ts). Where the
# generator cannot be installed it is passed over, and the line at the end says so.
set -euo pipefail
root=$(pwd)
export PATH="$root/bin:$PATH" NO_COLOR=1
cache=${CALLGATE_NPM:-$root/.scratch/npm}/apiclient
command -v npm >/dev/null || { echo 'apiclient: skipped, npm is not here'; exit 0; }
if [ ! -e "$cache/done" ]; then
  mkdir -p "$cache"
  timeout 150 npm install --prefix "$cache" --silent --no-fund --no-audit --fetch-retries 0 \
    @hey-api/openapi-ts@0.95 typescript@5.9 jiti@2 @types/node@22 node@22 >/dev/null 2>&1 && touch "$cache/done" ||
    { echo 'apiclient: skipped, the generator cannot be installed from npm here'; exit 0; }
fi
go build -trimpath -ldflags '-s -w' -o bin/callgate ./cmd/callgate
go build -o bin/person ./scripts/person

scratch=$(mktemp -d)
kernel=
finish() {
  [ -z "$kernel" ] || { kill "$kernel"; wait "$kernel"; } 2>/dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT
export CALLGATE_STATE="$scratch/state"
mkdir "$scratch/work"; cd "$scratch/work"
printf 'hello there\n' > hello.txt
callgate up --listen 127.0.0.1:0 > "$scratch/up.log" 2>&1 & kernel=$!
for _ in $(seq 200); do
  URL_OF_KERNEL=$(sed -n 's#.*\(http://127\.0\.0\.1:[0-9]*\).*#\1#p' "$scratch/up.log" | head -1)
  [ -z "$URL_OF_KERNEL" ] || break
  sleep 0.05
done
[ -n "$URL_OF_KERNEL" ] || { echo "apiclient: nothing listens: $(cat "$scratch/up.log")" >&2; exit 1; }
token() { person callgate token create --role "$1" --name "$1" 2>/dev/null | grep -o 'cgt_[A-Za-z0-9_-]*'; }
OPERATOR=$(token operator) APPROVER=$(token approver)
export URL_OF_KERNEL OPERATOR APPROVER

# The document is the running kernel's own.
mkdir "$scratch/client"; cp "$root/scripts/apiclient/main.ts" "$scratch/client/"; ln -s "$cache/node_modules" "$scratch/client/node_modules"
cd "$scratch/client"
export PATH="$cache/node_modules/.bin:$PATH"
curl -fsS -H "Authorization: Bearer $OPERATOR" "$URL_OF_KERNEL/v1/openapi.json" > openapi.json
cmp openapi.json "$root/docs/openapi.json" || { echo 'apiclient: docs/openapi.json is not what a kernel gives' >&2; exit 1; }
timeout 60 openapi-ts -i openapi.json -o generated > generated.log 2>&1 || { cat generated.log >&2; exit 1; }
timeout 120 tsc --noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler --target es2022 \
  --lib es2022,dom,dom.iterable --types node main.ts
timeout 60 jiti main.ts
