#!/usr/bin/env bash
# Formatting, lints, documentation, and the rules that no lint knows.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base
failed=0
fail() { echo "lint: $*" >&2; failed=1; }

cargo fmt --all --check || fail "cargo fmt --all"
cargo clippy -q --workspace --all-targets -- -D warnings || fail "clippy"
ci/docs.sh || fail "documentation"

# Only the facade names atomics or loom, so that nothing escapes the models.
if grep -rnE '(core|std)::sync::atomic|loom::|portable_atomic|atomic::Atomic|crossbeam_utils::Backoff' src --include='*.rs' |
    grep -v '^src/sync\.rs:'; then
    fail "only src/sync.rs may name atomics or loom"
fi

# Each use of an ordering is argued within the few lines above it.
# (`use` lines and comments are no uses.)
for file in $(grep -rlE '\b(Relaxed|Acquire|Release|AcqRel|SeqCst)\b' src --include='*.rs' | grep -v '^src/sync\.rs'); do
    awk '
        /\/\/ ORDERING:/ { argued = FNR; model = 0 }
        /\/\/ MODEL:/ { model = FNR }
        /\.(load|store|swap|compare_exchange(_weak)?|fetch_[a-z]+)\(.*(Relaxed|Acquire|Release|AcqRel|SeqCst)|fence\((Acquire|Release|AcqRel|SeqCst)\)/ {
            if (!argued || !model || FNR - argued > 45) { print FILENAME ":" FNR ": no ORDERING and MODEL comment above:" $0; bad = 1 }
        }
        END { exit bad }
    ' "$file" || fail "an atomic operation is not argued"
done

# An exception to a lint says why.
if grep -rnE '#!?\[(allow|expect)\(' --include='*.rs' src benches crates loom-tests tests fuzz 2>/dev/null | grep -v reason; then
    fail "allow without a reason"
fi

exit "$failed"
