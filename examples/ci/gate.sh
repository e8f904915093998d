#!/bin/sh
# Fails a change that makes a training step slower. Compares the change's traces with a baseline, and
# writes gate.md for the pull request.
#
# usage: gate.sh BASELINE TRACE [TRACE...]
#
# BASELINE: a name in .headroom/baselines, saved once on the main branch and committed:
#   headroom baseline save main run1.json.gz run2.json.gz run3.json.gz
# TRACE: a trace of the change, from the same machine. Three runs show more than one long run.
# GATE_RULES: a file of rules (default: rules.toml next to this script).
#
# Exit code: 0 the gate passes; 1 it fails, is inconclusive, lacks a figure, or the runs are not
# comparable; otherwise the exit code of headroom diff.
set -eu

baseline=$1
trace=$2
shift 2
rules=${GATE_RULES:-$(dirname "$0")/rules.toml}

# Each further trace is a repeated run.
count=$#
while [ "$count" -gt 0 ]; do
  set -- "$@" --also-b "$1"
  shift
  count=$((count - 1))
done

status=0
rm -f gate.md # Removes an earlier result: headroom diff may fail before it writes a new one.
headroom diff "$baseline" "$trace" "$@" --gate "$rules" --md -o gate.md || status=$?
[ ! -f gate.md ] || cat gate.md
exit "$status"
