#!/usr/bin/env bash
# Measures the module rag on three public sets of documents: those of npm (which npm installs),
# of git and of SQLite (packages of Debian). Nothing of them is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$(npm root -g 2>/dev/null)/npm/docs/content" "$work/npm"
(
  cd "$work"
  apt-get download git-doc sqlite3-doc >/dev/null 2>&1
  for package in git-doc sqlite3-doc; do dpkg-deb -x "$package"_*.deb "$package"; done
)
go build -o "$work/ragbench" ./scripts/ragbench
ask=scripts/ragbench/questions
"$work/ragbench" -docs "$work/npm" -questions $ask/npm.tsv
"$work/ragbench" -docs "$work/git-doc/usr/share/doc/git-doc" -pattern '**/*.html' -questions $ask/git.tsv
"$work/ragbench" -docs "$work/sqlite3-doc/usr/share/doc/sqlite3" -pattern '**/*.html' -questions $ask/sqlite.tsv
