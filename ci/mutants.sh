#!/usr/bin/env bash
# cargo-mutants over the modules that only compute, by hand: each of their operators and
# results is changed in turn, and the tests must fail. Hours for all of them.
#
#   ci/mutants.sh             all of them
#   ci/mutants.sh FILE...     these, such as src/config/quota.rs
#
# What it is to leave, and why, is in .cargo/mutants.toml. (It does not look into macros:
# the reciprocal and the level are made by one each, and tested by every value of 8 bits.)
# What survived is in missed.txt, in the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base
cargo mutants --version >/dev/null 2>&1 || cargo install -q --locked cargo-mutants

[ $# -gt 0 ] || set -- src/bucket/accrual.rs 'src/bucket/accrual/*.rs' src/bucket/level.rs src/bucket/terms.rs \
    'src/window/counter/*.rs' src/window/intervals.rs src/keyed/table/ticks.rs 'src/time/calendar/*.rs' \
    src/decision/forecast.rs src/decision/forecast/bucket.rs src/decision/forecast/window.rs src/config/quota.rs src/config/rate.rs src/time/units.rs

files=()
for file; do files+=(--file "$file"); done

# The unit tests, and those that compare every answer with a model.
nice cargo mutants --package sluicegate "${files[@]}" --output "${CARGO_TARGET_DIR:-target}" --no-shuffle \
    --cap-lints true --timeout 300 --features calendar -- --lib --test engine -- tests:: properties:: conformance:: buckets:: \
    windows:: window_edges:: calendar::
