#!/usr/bin/env bash
# Prints the packages, of those that have tests, that start goroutines, lock or use
# channels, in their code or in their tests: the race detector has something to see there.
set -euo pipefail
cd "$(dirname "$0")/.."
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./... | while read -r path folder; do
  if [ -n "$path" ] && grep -qE '"sync(/atomic)?"|"testing/synctest"|^\s*go [a-zA-Z]|\.Go\(|\bchan\b|<-' "$folder"/*.go; then
    echo "$path"
  fi
done
