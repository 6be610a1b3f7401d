#!/usr/bin/env bash
# Runs one test binary as `cargo test` would, and notes how long each of its tests took.
#
#   TEST_TIMES=FILE CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=ci/timed.sh cargo test ...
#
# Adds lines `MILLISECONDS BINARY TEST` to FILE. The stable test harness tells no times
# (`--report-time` needs nightly), and a runner that does would have to be built on a fresh
# machine, which takes longer than all these tests. But the harness begins its tests in
# the order of `--list`, the next one whenever one ends, and prints each end at once: with n
# threads, the k-th test begins when the (k - n)-th end is printed. By the wall: what runs
# at the same time shares the processors.
set -euo pipefail

binary=$1
shift
order=$(mktemp)
ends=$(mktemp)
trap 'rm -f "$order" "$ends"' EXIT

"$binary" "$@" --list --format terse 2>/dev/null | sed -n 's/: test$//p' >"$order" || true
echo "$EPOCHREALTIME" >"$ends"
"$binary" "$@" | while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ ! $line =~ ^test\ .*\ \.\.\. ]] || printf '%s %s\n' "$EPOCHREALTIME" "$line" >>"$ends"
done
name=${binary##*/}
awk -v threads="${RUST_TEST_THREADS:-$(nproc)}" -v binary="${name%-*}" '
    FILENAME == ARGV[1] { place[$1] = FNR; next }
    { sub(/,/, ".", $1) }
    FNR == 1 { end[0] = $1; next }
    { end[++n] = $1; test[n] = $3 }
    END {
        for (i = 1; i <= n; i++) {
            before = place[test[i]] - threads
            printf "%d %s %s\n", (end[i] - end[before > 0 ? before : 0]) * 1000, binary, test[i]
        }
    }
' "$order" "$ends" >>"$TEST_TIMES"
