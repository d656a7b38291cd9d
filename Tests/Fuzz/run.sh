#!/usr/bin/env bash
# Fuzzes each target for its share of the given seconds, with libFuzzer and the address sanitizer, in bounded memory.
# Usage: Tests/Fuzz/run.sh BUILD SECONDS, BUILD being the directory in which `make fuzz` has built.
#
# An input that it finds goes to .build-fuzz/findings and fails the run: keep it in Tests/Fuzz/Corpus/TARGET, from where
# every test run takes it again. Inputs that it learns stay in .build-fuzz/corpus for the next run.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

scratch=$1
seconds=$2
if [[ ! $seconds =~ ^[1-9][0-9]{0,6}$ ]]; then
    printf 'fuzz: SECONDS is "%s", a number of at least 1 is expected\n' "$seconds" >&2
    exit 64
fi

mkdir -p "$scratch/findings"
targets=(Tests/Fuzz/Corpus/*/)
share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
failed=()
export LSAN_OPTIONS="suppressions=$PWD/Tests/Fuzz/leaks.txt:print_suppressions=0"
for corpus in "${targets[@]}"; do
    target=$(basename "$corpus")
    printf '\n== fuzz %s, %d s\n' "$target" "$share"
    mkdir -p "$scratch/corpus/$target"
    # One unit may take 10 s and one allocation 64 MiB; the limit of all includes what the sanitizer keeps back.
    if ! "$scratch/release/belfry-fuzz" "$target" -max_total_time="$share" -max_len=8192 -timeout=10 \
        -rss_limit_mb=1536 -malloc_limit_mb=64 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$scratch/findings/$target-" "$scratch/corpus/$target" "$corpus"; then
        failed+=("$target")
    fi
done

if ((${#failed[@]} > 0)); then
    printf '\nfuzz: %s failed; the inputs are in %s/findings\n' "${failed[*]}" "$scratch" >&2
    exit 1
fi
printf '\nfuzz: nothing found\n'
