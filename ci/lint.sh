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
ci/links.sh || fail "a link is dead"
ci/circles.sh || fail "modules import each other in a circle"

# Only the facade names atomics, loom or shuttle, so that nothing escapes the models.
if grep -rnE '^[^/"]*(\b(atomic|loom|shuttle|portable_atomic)\b|crossbeam_utils::.*Backoff)' src --include='*.rs' |
    grep -v '^src/sync\.rs:' | grep -v 'feature = '; then
    fail "only src/sync.rs may name atomics, loom or shuttle"
fi

# Each use of an ordering is argued right above it.
for file in $(grep -rlwE 'Relaxed|Acquire|Release|AcqRel|SeqCst' src crates/redis/src/lease --include='*.rs' | grep -v '^src/sync\.rs'); do
    awk -f ci/argued.awk "$file" || fail "an atomic operation is not argued"
done

ci/memory-ordering.sh --check || fail "docs/memory-ordering.md"

# A theorem is proved once, in its module; a page states it and links that.
if grep -n '∎' README.md docs/*.md; then
    fail "a page holds a proof"
fi

# A comment of documentation opens with a verb or a noun: "Returns", "Number of".
openings=$(git ls-files -co --exclude-standard '*.rs' | xargs awk -f ci/openings.awk) || {
    echo "$openings"
    fail "more than 2 % of the comments of documentation open with a question word"
}

# The first pages have few pronouns that dangle: "those", "what", "the same", "that of".
awk -f ci/prose.awk README.md src/front-page.md | awk '$3 > 5 { print; found = 1 } END { exit found }' ||
    fail "a first page has more than 5 dangling pronouns in a thousand words"

# An exception to a lint says why. (Lines of documentation are not exceptions, and generated files are not ours.)
if git ls-files -co --exclude-standard '*.rs' | grep -v '^crates/serve/src/envoy/protocol/' | xargs grep -nE '#!?\[(allow|expect)\(' |
    grep -vE ':[0-9]+: *///' | grep -v reason; then
    fail "allow without a reason"
fi

exit "$failed"
