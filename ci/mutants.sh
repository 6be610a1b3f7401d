#!/usr/bin/env bash
# cargo-mutants over the modules that only compute, by hand: each of their operators and
# results is changed in turn, and the tests must fail. Hours for all of them.
#
#   ci/mutants.sh             all of them
#   ci/mutants.sh FILE...     these, such as src/quota.rs
#
# What it is to leave, and why, is in .cargo/mutants.toml. (It does not look into macros:
# the reciprocal and the level are made by one each, and tested by every value of 8 bits.)
# What survived is in missed.txt, in the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base
cargo mutants --version >/dev/null 2>&1 || cargo install -q --locked cargo-mutants

[ $# -gt 0 ] || set -- src/accrual.rs 'src/accrual/*.rs' src/one_word/level.rs src/one_word/terms.rs \
    'src/tally/*.rs' src/window/ticks.rs src/key_table/ticks.rs 'src/calendar/*.rs' \
    src/decision/outlook.rs src/decision/counted.rs src/quota.rs src/rate.rs src/time.rs
files=()
for file in "$@"; do
    files+=(--file "$file")
done

# The unit tests, and those that compare every answer with a model.
nice cargo mutants --package sluicegate "${files[@]}" --output "${CARGO_TARGET_DIR:-target}" --no-shuffle \
    --cap-lints true --timeout 300 --features calendar -- --lib --test properties --test conformance \
    --test verbs --test windows --test window_edges --test calendar
