#!/usr/bin/env bash
# Runs the tests that were built, with the arguments of `swift test`. Thousands of lines go by, so what failed is said
# once more at the end; a test that was skipped is a failure too.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=.build/test.log
result=0
swift test "$@" --skip-build 2>&1 | tee "$log" || result=$?

if grep -qE '^. (Test|Suite) .* skipped' "$log"; then
    result=1
fi
if ((result != 0)); then
    printf '\n== what failed, or did not run\n'
    grep -E '^✘|^. (Test|Suite) .* skipped|^(error|fatal error):|Fatal error:|unexpected signal' "$log" | cut -c -400 |
        sort | uniq -c | head -n 60
fi
exit "$result"
