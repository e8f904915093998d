#!/bin/sh
# Fails a change that makes a training step slower: compares traces of it with a baseline, and leaves
# gate.md for the pull request.
#
# usage: gate.sh BASELINE TRACE [TRACE...]
#
# BASELINE: a name in .headroom/baselines, saved once on the main branch and committed:
#   headroom baseline save main run1.json.gz run2.json.gz run3.json.gz
# TRACE: of the change, from the same machine. Three runs tell more than one long one.
# GATE_RULES: the rules to keep; else rules.toml beside this script.
#
# Exit code: 0 the gate passes; 1 it fails, cannot tell, lacks a figure, or the runs are not
# comparable; else as headroom diff.
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
rm -f gate.md # Of an earlier run, which this one may not get to replace.
headroom diff "$baseline" "$trace" "$@" --gate "$rules" --md -o gate.md || status=$?
[ ! -f gate.md ] || cat gate.md
exit "$status"
