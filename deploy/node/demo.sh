#!/bin/sh
# Lets the real agent boot a directory that stands for a machine. No root; leaves build/demo behind.
set -eu
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}
ROOT=build/demo
rm -rf "$ROOT"
mkdir -p "$ROOT/etc/fairlead"
cp examples/node-config.json "$ROOT/etc/fairlead/node-config.json"
chmod 600 "$ROOT/etc/fairlead/node-config.json"
agent() { PYTHONPATH=src "$PYTHON" -m fairlead.agent "$@" --root "$ROOT"; }

agent boot 2> "$ROOT/boot.log" || { cat "$ROOT/boot.log" >&2; exit 1; }
agent report
printf '\nfiles of the node, below %s:\n' "$ROOT"
(cd "$ROOT" && find etc var -type f | sort | sed 's/^/  /')
printf '\nwhat a cloud that waits for it sees (fairlead-node provision-wait), first line:\n  '
agent provision-wait | cut -c1-100
