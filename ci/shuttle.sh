#!/usr/bin/env bash
# Crowds of 5 to 20 callers that wait in line, under a seeded scheduler: more callers than loom
# can explore. Each crowd runs under some hundreds of schedules.
#
#   ci/shuttle.sh           400 schedules of each
#   ci/shuttle.sh 100000    that many schedules of each crowd, by hand
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

[[ "${1:-1}" =~ ^[1-9][0-9]*$ && $# -le 1 ]] || { echo "usage: ci/shuttle.sh [NUMBER]" >&2; exit 2; }
[ $# -eq 0 ] || export SCHEDULES=$1

# In a target folder of its own: with another cfg, all of it is built anew.
export RUSTFLAGS="--cfg sluicegate_shuttle ${RUSTFLAGS:-}"
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}/shuttle" && cd "${CARGO_TARGET_DIR:-target}/shuttle" && pwd)"
CARGO_TARGET_DIR="$target" cargo test -q -p sluicegate-shuttle-tests --profile loom
