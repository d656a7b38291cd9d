#!/usr/bin/env bash
# Runs the tests that were built. Thousands of lines go by, so failures are told once more at the end; a test that was
# skipped is a failure too, and a run that found none.
# Usage: Tests/run.sh BUNDLE [FILTER], BUNDLE being the executable that holds all tests.
#
# The rules, which wait for nothing, run in one process and side by side. Each other suite waits for processes and
# sockets most of its time: it has a process of its own, in which one test follows the other, and several of them share
# the machine. Beside a thousand tests at once on two cores, a suite that waits for a socket may wait for a minute.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export bundle=$1
filter=${2:-}
export logs=.build/test-logs
together=5
# The checks below look at the beginnings of lines; into a pipe, too, these would be coloured.
export NO_COLOR=1

# run NAME ARGUMENTS... writes what it says to its log, and all of it to the output when it has ended.
run() {
    local status=0
    "$bundle" --testing-library swift-testing "${@:2}" > "$logs/$1.log" 2>&1 || status=$?
    if ((status > 128)); then
        printf '\nfatal error: the run %s ended by signal %d\n' "$1" $((status - 128)) >> "$logs/$1.log"
    fi
    flock "$logs" cat "$logs/$1.log"
    return "$status"
}

# suite NAME, as --list-tests has it.
# shellcheck disable=SC2329
suite() { run "${1//\//-}" --no-parallel --filter "^\\Q$1\\E(/|\$)"; }
export -f run suite

rm -rf "$logs"
mkdir -p "$logs"
result=0
if [[ -n $filter ]]; then
    run chosen --no-parallel --filter "$filter" || result=$?
else
    # Targets whose tests compute and touch neither processes nor sockets nor clocks.
    rules='^(?:APNsProtocol|BenchmarkDriver|Chaos|Demo|Fuzz|HTTPPorts|LocalPipeline|PayloadRendering|PipelineCore'
    rules+='|PushSchemas|RequestRules|Simulation|SocketErrors)Tests\.'
    # Targets of which most suites are like that. The others are named after what they wait for: servers.
    mixed='BelfrySupport|HTTP2Transport|ProviderCredentials|Sender|Sandbox|TokenState'
    rules+="|^(?:$mixed)Tests\\.(?!\\w+ServerTests\\b)"
    listed=$("$bundle" --testing-library swift-testing --list-tests)
    # Rules take what the others leave: those must not be late at a socket for their sake.
    computing=
    if grep -qP "$rules" <<< "$listed"; then
        (renice -n 10 "$BASHPID" > /dev/null && run rules --filter "$rules") &
        computing=$!
    fi
    # The program as a whole first: its suites take longest. They are one suite to the library.
    # shellcheck disable=SC2016
    { grep -vP "$rules" <<< "$listed" || true; } | sed -E 's,^(IntegrationTests\.[^/]+/[^/]+|[^/]+).*,\1,' | sort -u |
        awk '{ print !/^IntegrationTests/, $0 }' | sort -s -n -k 1,1 | cut -d ' ' -f 2- |
        xargs -r -d '\n' -n 1 -P "$together" bash -c 'set -euo pipefail; suite "$1"' suite || result=$?
    [[ -z $computing ]] || wait "$computing" || result=$?
fi

for each in "$logs"/*.log; do
    if ! grep -qE '^[^ ]+ Test run with [1-9][0-9]* test' "$each"; then
        printf '\n%s: no test has run, or the run has not come to its end. It said last:\n' "$each"
        tail -n 25 "$each" | cut -c -400
        result=1
    fi
done
ran=$(sed -nE 's/^[^ ]+ Test run with ([0-9]+) test.*/\1/p' "$logs"/*.log | awk '{ sum += $1 } END { print sum + 0 }')
if [[ -z $filter ]] && ((ran != $(wc -l <<< "$listed"))); then
    printf '\n%d tests have run, there are %d\n' "$ran" "$(wc -l <<< "$listed")"
    result=1
fi
# A name may hold the word, too.
skipped='^[^ ]+ (Test|Suite) .* skipped(\.$|:)'
if grep -qE "$skipped" "$logs"/*.log; then
    result=1
fi
if ((result != 0)); then
    printf '\n== what failed, or did not run\n'
    grep -hE "^✘|$skipped|^(error|fatal error):|Fatal error:|unexpected signal" "$logs"/*.log |
        cut -c -400 | sort | uniq -c | head -n 60
fi
printf '\n%d tests have run: %s\n' "$ran" "$( ((result == 0)) && echo 'all passed' || echo 'some failed')"
exit "$result"
