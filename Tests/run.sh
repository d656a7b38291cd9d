#!/usr/bin/env bash
# Runs the tests that were built. Thousands of lines go by, so what failed is said once more at the end; a test that was
# skipped is a failure too, and a run that found none.
# Usage: Tests/run.sh BUNDLE [FILTER], BUNDLE being the executable that holds all tests.
#
# Most tests wait for processes and sockets, so two runs share the machine: the program as a whole, and its parts. In each
# one test follows the other: beside a thousand tests at once on two cores, whatever waits for a socket may wait for a minute.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bundle=$1
filter=${2:-}
log=.build/test
# What follows looks at the beginnings of lines; into a pipe, too, they would be coloured.
export NO_COLOR=1

# run NAME ARGUMENTS...
run() {
    "$bundle" --testing-library swift-testing --no-parallel "${@:2}" 2>&1 | tee "$log-$1.log"
}

result=0
if [[ -n $filter ]]; then
    names=(chosen)
    run chosen --filter "$filter" || result=$?
else
    names=(whole parts)
    # Suites of the whole that run with the parts, so that neither run is much longer than the other. The suite around all
    # of the whole must not be skipped itself, or all of it is.
    moved='RebalanceTests|RedisAwayTests'
    run whole --filter '^IntegrationTests\.' --skip "^IntegrationTests\.IntegrationTests/($moved)" &
    whole=$!
    run parts --skip "^IntegrationTests\.IntegrationTests/(?!$moved)" || result=$?
    wait "$whole" || result=$?
fi

logs=("${names[@]/#/$log-}")
logs=("${logs[@]/%/.log}")
for each in "${logs[@]}"; do
    if ! grep -qE '^[^ ]+ Test run with [1-9][0-9]* test' "$each"; then
        printf '\n%s: no test has run, or the run has not come to its end\n' "$each"
        result=1
    fi
done
if [[ -z $filter ]]; then
    listed=$("$bundle" --testing-library swift-testing --list-tests | wc -l)
    ran=$(sed -nE 's/^[^ ]+ Test run with ([0-9]+) test.*/\1/p' "${logs[@]}" |
        awk '{ sum += $1 } END { print sum + 0 }')
    if ((ran != listed)); then
        printf '\n%d tests have run, there are %d\n' "$ran" "$listed"
        result=1
    fi
fi
# A name may hold the word, too.
skipped='^[^ ]+ (Test|Suite) .* skipped(\.$|:)'
if grep -qE "$skipped" "${logs[@]}"; then
    result=1
fi
if ((result != 0)); then
    printf '\n== what failed, or did not run\n'
    grep -hE "^✘|$skipped|^(error|fatal error):|Fatal error:|unexpected signal" "${logs[@]}" |
        cut -c -400 | sort | uniq -c | head -n 60
fi
printf '\n'
grep -hE '^[^ ]+ Test run with' "${logs[@]}" || true
exit "$result"
