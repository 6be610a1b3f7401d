#!/usr/bin/env bash
# ThreadSanitizer on the stress and the linearizability tests, of buckets and the line before them, of lines before any
# limiter and before keys, of windows and their settlements, of shards and keys, hot ones too, and of permits in flight, with the standard library
# instrumented too.
#
# It does not understand fences. The engine has them before a denial looks at the
# word again; all that they order are atomics, which cannot race, so no false report
# comes of it.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh nightly

target=x86_64-unknown-linux-gnu
export RUSTFLAGS="-Zsanitizer=thread" TSAN_OPTIONS="halt_on_error=1"
cargo +nightly test -q -p sluicegate -Zbuild-std --target "$target" \
    --target-dir "${CARGO_TARGET_DIR:-target}/tsan" --test engine \
    -- stress:: linearizability:: window_races:: leases:: sharded:: top_keys:: races:: threads storm
cargo +nightly test -q -p sluicegate-flow -Zbuild-std --target "$target" \
    --target-dir "${CARGO_TARGET_DIR:-target}/tsan" --test flow -- threads storm
