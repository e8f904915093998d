# Sourced by tools/test. Runs stages, prints a line for each, counts tests, and compares times with budgets.
#
# A failed stage does not stop later stages. The script prints the output of a failed stage and keeps all output in
# build/test-logs/. It always prints output lines that begin with `!!`: they report untested parts and unsteady tests.
# A stage that prints `N passed, M failed, K skipped` counts as that many tests. Any other stage counts as one.

logs=build/test-logs
mkdir -p "$logs"
passed=0
failed=0
skipped=0
over_budget=()
began=$SECONDS

# stage TITLE BUDGET_S COMMAND...
stage() {
  local title=$1 budget=$2 log=$logs/${1// /-}.log begin=$SECONDS status word counts taken
  shift 2
  printf '%-24s ' "$title"
  # The call is not in a condition, because bash ignores -e there.
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null
  status=$?
  set -e

  counts=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
  case $status in
    0) word=ok counts=${counts:-1 0 0} ;;
    *) word=FAIL counts=${counts:-0 1 0} ;;
  esac
  local p f s
  read -r p f s <<<"$counts"
  [[ $word != FAIL || $f -gt 0 ]] || f=1 # The counts show no failure, but the stage failed.
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))

  taken=$((SECONDS - begin))
  printf '%-4s %4d s of %4d' "$word" "$taken" "$budget"
  [[ $taken -le $budget ]] || over_budget+=("$title took $taken s of $budget s")
  [[ $word != ok || $((p + f + s)) -eq 1 ]] || printf '  %s passed, %s skipped' "$p" "$s"
  printf '\n'
  sed -nE '/^!! /s/^/    /p' "$log" | sort -u | head -n 20
  if [[ $word == FAIL ]]; then
    tail -n 200 "$log" | sed 's/^/    /'
    printf '    (full log: %s)\n' "$log"
  fi
}

# finish BUDGET_S: lists the stages over budget and prints the counts. Fails if a test failed.
finish() {
  local taken=$((SECONDS - began))
  [[ $taken -le $1 ]] || over_budget+=("all stages took $taken s of $1 s")
  printf '%-24s      %4d s of %4d\n\n' total "$taken" "$1"
  local line
  for line in "${over_budget[@]}"; do printf 'OVER BUDGET: %s\n' "$line"; done
  echo "$passed passed, $failed failed, $skipped skipped"
  [[ $failed -eq 0 ]]
}
