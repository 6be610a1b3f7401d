#!/usr/bin/env bash
# Leases, by hand: nodes by the real scripts in a simulated time, with faults, in more steps than the tests have; and
# mutants of the limiter, of shares of tenants and of reserves (crates/redis/mutants.toml), all of which the tests have to catch.
#
#   ci/leases.sh            a million steps, then the mutants
#   ci/leases.sh 10000000   that many
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

[[ "${1:-1}" =~ ^[1-9][0-9]*$ && $# -le 1 ]] || { echo "usage: ci/leases.sh [STEPS]" >&2; exit 2; }
# Three limits with three numbers of nodes, each with two seeds.
export SLUICEGATE_LEASE_STEPS=$((${1:-1000000} / 18 + 1))

# Optimised, since they compare millions of answers with exact fractions.
optimised=(--config 'profile.dev.package.sluicegate-redis.opt-level=2')
cargo test -q "${optimised[@]}" -p sluicegate-redis --lib simulation -- --nocapture

# Mutants are built and run in a copy of the sources, so that the tree is never touched.
cargo build -q -p sluicegate-mutator
target="$(cd "${CARGO_TARGET_DIR:-target}" && pwd)" table=crates/redis/mutants.toml
mutator="$target/debug/sluicegate-mutator" copy="$target/lease-mutants/copy"
export CARGO_TARGET_DIR="$target/lease-mutants/target"
rm -rf "$copy"
mkdir -p "$copy"
tar -cf - --exclude=./target --exclude=./.git --exclude=./fuzz . | tar -xmf - -C "$copy"

unset SLUICEGATE_LEASE_STEPS
failed=0 count=0
for mutant in $("$mutator" names "$table"); do
    "$mutator" apply "$table" "$mutant" "$copy"
    case $mutant in shares-*) tests=shares ;; reserve-*) tests=reserves ;; *) tests=leases ;; esac
    # It may go round without end.
    if ! (cd "$copy" && cargo build -q -p sluicegate-redis --tests 2>/dev/null); then
        echo "leases: $mutant does not build" >&2
        exit 1
    elif (cd "$copy" && ulimit -v 4000000 && timeout 120 cargo test -q "${optimised[@]}" -p sluicegate-redis --lib $tests) >/dev/null 2>&1; then
        echo "not caught: $mutant"
        failed=1
    else
        echo "caught: $mutant"
    fi
    count=$((count + 1))
    "$mutator" restore "$table" "$mutant" "$copy"
done
echo "$count mutants"
exit "$failed"
