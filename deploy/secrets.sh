#!/usr/bin/env bash
# Makes what deploy/compose.yaml reads: a password for the database, the key that all nodes have, and a certificate of
# one's own.
#
#   deploy/secrets.sh DIR [NAME...]     the NAMEs by which clients call it; localhost always is one
#
# What is there already stays. The files can be read by everybody who can enter the folder, because the users of the
# containers are others than yours; only you can enter it.
set -euo pipefail
dir=${1:?"deploy/secrets.sh DIR [NAME...]: the folder to write to"}
shift
umask 077
mkdir -p "$dir"
chmod 700 "$dir"
cd "$dir"
if [ ! -e postgres-password ]; then
  password=$(openssl rand -hex 24)
  printf '%s' "$password" >postgres-password
  printf 'postgres:5432:callgate:callgate:%s\n' "$password" >pgpass
fi
[ -e cluster-key ] || openssl rand -hex 32 >cluster-key
if [ ! -e tls.key ]; then
  names=DNS:localhost,IP:127.0.0.1
  for name in "$@"; do names+=,DNS:$name; done
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=callgate \
    -addext "subjectAltName=$names" -keyout tls.key -out tls.crt 2>/dev/null
fi
chmod 444 postgres-password pgpass cluster-key tls.crt tls.key
