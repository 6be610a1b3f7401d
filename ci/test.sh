#!/usr/bin/env bash
# The tests of an ordinary run: installs what they need; then
# unit, behaviour, property and documentation tests of all crates, with a real Redis and a page in a real browser; and the
# loom models, with the slow ones and the mutants that have changed. ci/deep.sh has the rest, and says what that is.
#
#   ci/test.sh          all of it
#   ci/test.sh quick    for work in progress: unit and behaviour tests of the engine and
#                       of the command, built as they are by default
#
# At the end: the ten slowest tests, what each stage took, and what was left out.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ ${1:-} =~ ^(quick)?$ ]] && [ $# -le 1 ] || { echo "usage: ci/test.sh [quick]" >&2; exit 2; }
. ci/stages.sh

if [ "${1:-}" = quick ]; then
    step "set up"
    ci/setup.sh base
    step "unit and behaviour tests of the engine and the command"
    timed cargo test -p sluicegate --lib --tests
    timed cargo test -p sluicegate-cli -p sluicegate-policy -p sluicegate-replay
    stage_times
    printf '\n=== all passed (%ds); left out: all else that ci/test.sh runs\n' "$SECONDS"
    exit
fi

step "set up"
ci/setup.sh base browser
# Everything is built once: what would make a second build quicker makes this one slower.
# And without the lines of backtraces: a tenth of the time.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

# All packages with the features that they have together: for one alone, or with others, cargo would build half of the
# dependencies anew. Not the benches, for their peers; nor the models that run under loom below.
all=(--workspace --exclude sluicegate-counted --exclude 'sluicegate-*benches' --exclude sluicegate-loom-tests --exclude sluicegate-shuttle-tests)
# Step models take minutes, and run in `ci/deep.sh`; but the few that run beside the engine are for every change of it. They
# are built without optimisation, which would take longer than it saves.
packages=("${all[@]}" --exclude sluicegate-step-models)
unoptimised=(--config 'profile.dev.package.sluicegate-step-models.opt-level=0')

# Tests that need other programs, and those that wait for faults: of four proxies, of Redis servers, and of the playground
# and all screens in a browser. What a filter leaves out is counted as "filtered out".
left=(proxies:: behind_nginx behind_haproxy tests::cluster:: tests::failover:: tests::faults:: tests::links:: tests::states:: playground::
    replay::pages_fit_every_screen)

step "build"
# Programs and examples without tests are left to ci/lint.sh, which compiles them.
cargo test "${unoptimised[@]}" "${all[@]}" --tests --no-run

step "unit, behaviour and property tests"
echo "left for ci/deep.sh: ${left[*]}, most random cases, benches, step models, crowds under shuttle"
# Twice as many at a time as there are processors, because half of them wait.
RUST_TEST_THREADS=$((2 * $(nproc))) timed cargo test "${packages[@]}" --tests -- "${left[@]/#/--skip=}"

step "step models beside the engine"
timed cargo test "${unoptimised[@]}" "${all[@]}" --tests of_the_engine

step "the command on its bundled sample"
"${CARGO_TARGET_DIR:-target}/debug/sluicegate" >/dev/null

step "the description of the service in OpenAPI"
SLUICEGATE=${CARGO_TARGET_DIR:-target}/debug/sluicegate ci/openapi.sh check

step "documentation tests"
cargo test "${packages[@]}" --doc

step "loom models: the quick ones, and slow ones and mutants that have changed"
# With the program of the mutants that is built already: for that alone, cargo would build its dependencies anew.
MUTATOR=${CARGO_TARGET_DIR:-target}/debug/sluicegate-mutator MUTANT_MINUTES=${MUTANT_MINUTES:-3} ci/loom.sh

stage_times
printf '\n=== all passed (%ds). Left for ci/deep.sh, which says how long each takes:\n' "$SECONDS"
ci/deep.sh list
