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
if grep -rnE '^[^/"]*(\b(atomic|loom|shuttle|portable_atomic)\b|crossbeam_utils::.*Backoff)' src crates/flow/src --include='*.rs' |
    grep -vE '^(crates/flow/)?src/sync\.rs:' | grep -v 'feature = '; then
    fail "only src/sync.rs may name atomics, loom or shuttle"
fi

# Each use of an ordering is argued right above it.
for file in $(grep -rlwE 'Relaxed|Acquire|Release|AcqRel|SeqCst' src crates/flow/src crates/redis/src/lease --include='*.rs' | grep -vE '^(crates/flow/)?src/sync\.rs'); do
    awk -f ci/argued.awk "$file" || fail "an atomic operation is not argued"
done

# A file of tests that is neither a program nor a part of one would not run.
for package in $(git grep -l '^autotests = false' -- '*Cargo.toml' | xargs grep -l '^\[\[test\]\]' | xargs -n 1 dirname); do
    for file in "$package"/tests/*.rs; do
        name=$(basename "$file" .rs)
        grep -qs "^mod $name;" "$package"/tests/*.rs || grep -qx "name = \"$name\"" "$package/Cargo.toml" || fail "$file is in no program"
    done
done

# A theorem is proved once, in its module; a page states it and links that.
if grep -n '∎' README.md docs/*.md; then
    fail "a page holds a proof"
fi

# A comment of documentation opens with a verb or a noun: "Returns", "Number of".
openings=$(git ls-files -co --exclude-standard '*.rs' | xargs awk -f ci/openings.awk) || {
    echo "$openings"
    fail "a comment of documentation opens with a question word"
}

# Few pronouns dangle ("those", "what", "the same", "that of"): in a thousand words at most 5 on first pages and in the heads
# of public modules, and 8 on other pages and in all documentation of the engine and of the crate flow.
few_pronouns() {
    local most=$1
    shift
    awk -f ci/prose.awk "$@" | awk -v most="$most" '$3 > most { print; found = 1 } END { exit found }' ||
        fail "more than $most dangling pronouns in a thousand words"
}
few_pronouns 5 README.md SECURITY.md src/front-page.md crates/*/README.md crates/*/src/lib.rs $(for crate in . crates/flow; do sed -n "s|^pub mod \(.*\);|$crate/src/\1.rs|p" $crate/src/lib.rs; done)
few_pronouns 8 CHANGELOG.md CONTRIBUTING.md docs/*.md
few_pronouns 8 <(git ls-files 'src/*.rs' | xargs sed -nE 's|^ */// ?||p')
few_pronouns 8 <(git ls-files 'crates/flow/src/*.rs' | xargs sed -nE 's|^ */// ?||p')

# The README is a front door: a page of 900 words at most.
[ "$(wc -w <README.md)" -le 900 ] || fail "README.md has more than 900 words"

# An exception to a lint says why. (Lines of documentation are not exceptions, and generated files are not ours.)
if git ls-files -co --exclude-standard '*.rs' | grep -v '^crates/serve/src/envoy/protocol/' | xargs grep -nE '#!?\[(allow|expect)\(' |
    grep -vE ':[0-9]+: *///' | grep -v reason; then
    fail "allow without a reason"
fi

exit "$failed"
