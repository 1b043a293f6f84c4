#!/usr/bin/env bash
# Makes the base of the fuller container image: a small Debian for this machine's architecture, as a tar archive, with
# mmdebstrap and without root's help. The same packages and the same commit give the same bytes.
#
#   scripts/imagebase.sh FILE            PACKAGES="nodejs npm" adds to it, SUITE names another release of Debian
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:?"scripts/imagebase.sh FILE: the archive to write"}
command -v mmdebstrap >/dev/null || { echo "imagebase: please install mmdebstrap" >&2; exit 1; }
include=ca-certificates,git,openssh-client,ripgrep,curl
for one in ${PACKAGES:-}; do include+=,$one; done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# What tells of the machine that made it goes: its name, its resolver, where it gets packages from.
mmdebstrap --quiet --variant=essential --include="$include" \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --customize-hook='rm -rf "$1/etc/hostname" "$1/etc/resolv.conf" "$1/etc/apt/sources.list"*' \
  "${SUITE:-bookworm}" "$to"
