#!/bin/sh
# Fails a change that makes a training step slower. Compares the change's traces with a baseline and writes gate.json and,
# for the pull request, gate.md. action.yml (GitHub) and gitlab.yml call it; it runs anywhere.
#
# usage: gate.sh BASELINE TRACE [TRACE...]
#
# BASELINE: a name in .headroom/baselines, saved once on the main branch and committed:
#   headroom baseline save main run1.json.gz run2.json.gz run3.json.gz
# TRACE: a trace of the change, from the same machine. Three short runs show the noise
#   between runs; one long run does not.
# GATE_RULES: a file of rules (default: rules.toml next to this script).
# GATE_INCONCLUSIVE: result of an inconclusive gate, `pass` or `fail` (default: fail).
#
# Exit code:
#   0: the gate passes, or is inconclusive and GATE_INCONCLUSIVE=pass.
#   1: it fails, is inconclusive, a figure is missing, or the runs are not comparable.
#   Otherwise: the exit code of headroom diff.
set -eu

verdict() { if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "verdict=$1" >>"$GITHUB_OUTPUT"; fi; } # For later steps.

[ $# -ge 2 ] || { verdict error; echo "usage: gate.sh BASELINE TRACE [TRACE...]" >&2; exit 2; }
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
if [ "${GATE_INCONCLUSIVE:-fail}" = pass ]; then set -- "$@" --allow-inconclusive; fi

rm -f gate.json gate.md # Removes earlier results: headroom diff may fail before it writes new ones.
status=0
headroom diff "$baseline" "$trace" "$@" --gate "$rules" --json -o gate.json || status=$?
found=error
if [ -f gate.json ]; then
  headroom diff "$baseline" "$trace" "$@" --gate "$rules" --md -o gate.md --quiet 2>/dev/null || true # It has said why.
  # The gate comes last in the object, and its verdict first in the gate.
  found=$(sed -n '/^  "gate":/,$s/.*"verdict": "\([^"]*\)".*/\1/p' gate.json | sed -n 1p)
fi
if [ -f gate.md ]; then
  cat gate.md
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat gate.md >>"$GITHUB_STEP_SUMMARY"; fi # GitHub shows it.
fi
verdict "${found:-error}"
exit "$status"
