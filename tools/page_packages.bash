# Sourced by tools/check_page and tools/test_page.

# install_page_packages WORD: installs the packages of package-lock.json with `npm ci` if node_modules is older.
# Requires ui/ as the working directory.
#
#   npm reaches no registry        ends the script with exit code 0 and a line `!! THE WEB PAGE IS NOT WORD`
#   npm fails for another reason   ends the script with exit code 1
install_page_packages() {
  [[ ! node_modules/.package-lock.json -nt package-lock.json ]] || return 0
  local log
  if log=$(npm ci --prefer-offline --no-audit --no-fund --fetch-retries=1 2>&1); then return 0; fi
  printf '%s\n' "$log"
  local unreachable='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENOTCACHED'
  [[ $log =~ $unreachable ]] || exit 1
  echo "!! THE WEB PAGE IS NOT $1: npm reaches no registry, and ui/node_modules is out of date"
  echo '0 passed, 0 failed, 1 skipped'
  exit 0
}
