#!/usr/bin/env bash
# Every test: installs what it needs, then runs unit, behaviour, property,
# conformance, documentation and stress tests, the builds for other targets,
# the models with their mutants, and Miri.
#
#   ci/test.sh          all of it
#   ci/test.sh quick    for work in progress: unit and behaviour tests of the engine and
#                       of the command, built as they are by default
#
# At the end: the ten slowest tests, and what each stage took of the processors. Half of
# that is the least that two idle ones need, whatever else the machine did meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ ${1:-} =~ ^(quick)?$ ]] && [ $# -le 1 ] || { echo "usage: ci/test.sh [quick]" >&2; exit 2; }

notes=$(mktemp -d)
trap 'rm -rf "$notes"' EXIT
export TEST_TIMES="$notes/tests"
: >"$TEST_TIMES"
: >"$notes/stages"
stage=""

# The processor time of all that this script has waited for, in seconds.
spent() {
    # Not in a subshell, whose times are its own.
    times >"$notes/times"
    sed -n 2p "$notes/times" | sed 's/[ms]/ /g' | awk '{ printf "%.1f\n", $1 * 60 + $2 + $3 * 60 + $4 }'
}
# Begins a stage, and notes what the one before took.
step() {
    spent >"$notes/spent"
    if [ -n "$stage" ]; then
        awk -v was="$spent_before" -v s="$((SECONDS - began))" -v stage="$stage" \
            '{ printf "%6.0f %6d  %s\n", $1 - was, s, stage }' "$notes/spent" >>"$notes/stages"
    fi
    spent_before=$(<"$notes/spent") began=$SECONDS stage=$1
    printf '\n=== %s (%ds)\n' "$stage" "$SECONDS"
}
# The same tests as without, each with its time (ci/timed.sh).
timed() {
    local runner
    runner=CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER
    env "$runner=$PWD/ci/timed.sh" "$@"
}
# Ends the last stage, and says so with these words behind.
passed() {
    step "what took how long"
    printf 'slowest tests, by the wall\n'
    sort -rn "$TEST_TIMES" | awk 'NR <= 10 { printf "%6.1f s  %s: %s\n", $1 / 1000, $2, $3 }'
    printf '\n%6s %6s  %s\n' cpu wall "seconds of each stage"
    cat "$notes/stages"
    awk '{ cpu += $1; wall += $2 } END { printf "%6d %6d  in all: %.0f minutes of two processors\n", cpu, wall, cpu / 120 }' "$notes/stages"
    printf '\n=== all passed (%ds)%s\n' "$SECONDS" "${1:-}"
}

if [ "${1:-}" = quick ]; then
    step "set up"
    ci/setup.sh base
    step "unit and behaviour tests of the engine and the command"
    timed cargo test -p sluicegate --lib --tests
    timed cargo test -p sluicegate-cli -p sluicegate-policy
    step "every mutant is one of the code as it is"
    ci/ledger.sh
    passed "; left out: lint, step models, documentation tests, examples, benches, other features and targets, loom, Miri"
    exit
fi

step "set up"
ci/setup.sh

# All packages with the features that they have together: for one alone, or with others, cargo
# would build half of the dependencies anew. The sources of the engine once more, under another
# name, have no tests of their own.
packages=(--workspace --exclude sluicegate-counted)
built=${CARGO_TARGET_DIR:-target}/debug

step "tests of the engine, the command, the examples, the benches and the models on real threads"
timed cargo test "${packages[@]}" --lib --bins --tests --examples

step "benches: each runs once"
# As the tests are built: nothing is timed here, and a release build of all peers takes
# longer than all that is run.
cargo test "${packages[@]}" --bench '*'
"$built/costs" >/dev/null
"$built/contend" --json --ms 2 --rounds 1 --retries 0 --keys 1000 >/dev/null

step "the command on its bundled sample"
"$built/sluicegate" >/dev/null

step "documentation tests"
cargo test "${packages[@]}" --doc

step "the engine without default features, and with each of them"
ci/features.sh

step "the minimum supported Rust"
ci/msrv.sh

step "literals that are out of range fail in cargo check"
ci/literals.sh

step "models, canary and mutants under loom"
ci/loom.sh

step "crowds of callers under shuttle"
ci/shuttle.sh

step "unit and concurrency tests under Miri"
ci/miri.sh

passed
