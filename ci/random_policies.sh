#!/usr/bin/env bash
# Random policies, by hand: what the command reports for each is compared with the slow reference, on a
# random log, and for every twentieth on the bundled log too. Every test run does thirty, on shorter logs.
#
#   ci/random_policies.sh           500 policies, of four limiters each
#   ci/random_policies.sh 5000      so many
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

[[ "${1:-1}" =~ ^[1-9][0-9]*$ && $# -le 1 ]] || { echo "usage: ci/random_policies.sh [POLICIES]" >&2; exit 2; }
export RANDOM_POLICIES=${1:-500}

# The slow reference is in a package that is not optimised otherwise.
cargo test --release --config 'profile.release.package.sluicegate-cli.opt-level=2' -p sluicegate-cli --test cli -- --nocapture reference::random | grep -v '^ *$' | tail -n 20
