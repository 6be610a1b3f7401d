#!/usr/bin/env bash
# Leases, by hand: nodes by the real scripts in a simulated time, with faults, in more steps than the tests have; and
# mutants of the limiter, all of which the tests have to catch.
#
#   ci/leases.sh            a million steps, then the mutants
#   ci/leases.sh 10000000   that many
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

[[ "${1:-1}" =~ ^[1-9][0-9]*$ && $# -le 1 ]] || { echo "usage: ci/leases.sh [STEPS]" >&2; exit 2; }
# Six limits with three numbers of nodes, each with two seeds.
export SLUICEGATE_LEASE_STEPS=$((${1:-1000000} / 36 + 1))

cargo test -q -p sluicegate-redis --lib simulation -- --nocapture

# A mutant is a patch of this tree: it is taken back, whatever happens.
patched=""
take_back() { [ -z "$patched" ] || patch -R -s -f -F0 -p1 <"$patched"; patched=""; }
trap take_back EXIT

unset SLUICEGATE_LEASE_STEPS
failed=0 count=0
for mutant in crates/redis/mutants/*.patch; do
    patch -s -f -F0 -p1 <"$mutant" || { echo "leases: $mutant does not apply" >&2; exit 1; }
    patched=$mutant
    cargo build -q -p sluicegate-redis --tests 2>/dev/null || { echo "leases: $mutant does not build" >&2; exit 1; }
    # It may go round without end.
    if (ulimit -v 4000000 && timeout 120 cargo test -q -p sluicegate-redis --lib leases) >/dev/null 2>&1; then
        echo "not caught: $mutant: $(sed -n 's/^# //p' "$mutant")"
        failed=1
    else
        echo "caught: $mutant"
    fi
    count=$((count + 1))
    take_back
done
echo "$count mutants"
exit "$failed"
