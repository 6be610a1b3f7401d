#!/usr/bin/env bash
# Every test: installs what it needs, then runs unit, behaviour, property,
# conformance, documentation and stress tests, the builds for other targets,
# the models with their mutants, and Miri.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n=== %s (%ds)\n' "$*" "$SECONDS"; }

step "set up"
ci/setup.sh

step "tests of the engine, the command, the benches and the models on real threads"
cargo test --workspace

step "the engine without default features, and with each of them"
ci/features.sh

step "models, canary and mutants under loom"
ci/loom.sh

step "unit and concurrency tests under Miri"
ci/miri.sh

step "benches: each runs once"
# As the tests are built: nothing is timed here, and a release build of all peers takes
# longer than all that is run.
cargo test -p sluicegate-benches --benches
cargo run -q -p sluicegate-benches --bin costs >/dev/null
cargo run -q -p sluicegate-benches --bin contend -- --json --ms 2 --rounds 1 >/dev/null

step "the command on its bundled sample"
cargo run -q --release >/dev/null

step "all passed"
