#!/usr/bin/env bash
# Runs the tests that were built. Thousands of lines go by, so failures are told once more at the end; a test that was
# skipped is a failure too, and a run that found none.
# Usage: Tests/run.sh BUNDLE [FILTER], BUNDLE being the executable that holds all tests.
#
# Most tests wait for processes and sockets, so several runs share the machine. In each but that of the rules, which
# wait for nothing, one test follows the other: beside a thousand tests at once on two cores, whatever waits for a
# socket may wait for a minute.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bundle=$1
filter=${2:-}
log=.build/test
# The checks below look at the beginnings of lines; into a pipe, too, these would be coloured.
export NO_COLOR=1

# run NAME ARGUMENTS...
run() {
    local status=0
    nice -n "${niceness:-0}" "$bundle" --testing-library swift-testing "${@:2}" 2>&1 | tee "$log-$1.log" || status=$?
    if ((status > 128)); then
        printf '\nfatal error: the run %s ended by signal %d\n' "$1" $((status - 128)) | tee -a "$log-$1.log"
    fi
    return "$status"
}

result=0
if [[ -n $filter ]]; then
    names=(chosen)
    run chosen --no-parallel --filter "$filter" || result=$?
else
    names=(rules whole failures parts)
    # Targets whose tests compute and touch neither processes nor sockets nor clocks.
    rules='^(?:APNsProtocol|BenchmarkDriver|Chaos|Demo|Fuzz|HTTPPorts|LocalPipeline|PayloadRendering|PipelineCore'
    rules+='|PushSchemas|RequestRules|Simulation|SocketErrors)Tests\.'
    # Targets of which most suites are like that. The others are named after what they wait for: servers.
    mixed='BelfrySupport|HTTP2Transport|ProviderCredentials|Sender|Sandbox|TokenState'
    # A suite has a name of its own, and no slash behind it: a filter that takes it takes all its tests.
    rules+="|^(?:$mixed)Tests\\.(?!\\w+ServerTests\\b)"
    # The program as a whole is half of all the time. These suites kill, cut and stop; they take as long as the others.
    failures='^IntegrationTests\.IntegrationTests/'
    failures+='(ForeignBroker|HarvesterKill|MillionTuples|Rebalance|RedisAway|RoleFailure|WorkerFailure)Tests'
    # Rules take what the others leave: those must not be late at a socket for their sake.
    niceness=10 run rules --filter "$rules" &
    runs=("$!")
    run whole --no-parallel --filter '^IntegrationTests\.' --skip "$failures" &
    runs+=("$!")
    run failures --no-parallel --filter "$failures" &
    runs+=("$!")
    run parts --no-parallel --skip "$rules|^IntegrationTests\." || result=$?
    for each in "${runs[@]}"; do wait "$each" || result=$?; done
fi

logs=("${names[@]/#/$log-}")
logs=("${logs[@]/%/.log}")
for each in "${logs[@]}"; do
    if ! grep -qE '^[^ ]+ Test run with [1-9][0-9]* test' "$each"; then
        printf '\n%s: no test has run, or the run has not come to its end. It said last:\n' "$each"
        tail -n 25 "$each" | cut -c -400
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
