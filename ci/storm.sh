#!/usr/bin/env bash
# Storms of threads and tasks that wait, give up, settle and change one limiter, by hand: a million
# steps of each. Every test run does 50,000.
#
#   ci/storm.sh             a million steps of each storm
#   ci/storm.sh 10000000    that many
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

[[ "${1:-1}" =~ ^[1-9][0-9]*$ && $# -le 1 ]] || { echo "usage: ci/storm.sh [STEPS]" >&2; exit 2; }
export STORM_STEPS=${1:-1000000}

cargo test --release -p sluicegate --features tokio --test engine -- wait::storm
