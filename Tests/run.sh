#!/usr/bin/env bash
# Runs the tests that were built, with the arguments of `swift test`. Thousands of lines go by, so what failed is said
# once more at the end; a test that was skipped is a failure too.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=.build/test.log
result=0
# One after the other: beside a thousand tests at once on two cores, whatever waits for a socket may wait for a minute.
swift test "$@" --skip-build --no-parallel 2>&1 | tee "$log" || result=$?

if grep -qE '^. (Test|Suite) .* skipped' "$log"; then
    result=1
fi
if ((result != 0)); then
    printf '\n== what failed, or did not run\n'
    grep -E '^✘|^. (Test|Suite) .* skipped|^(error|fatal error):|Fatal error:|unexpected signal' "$log" | cut -c -400 |
        sort | uniq -c | head -n 60
fi
exit "$result"
