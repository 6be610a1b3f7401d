#!/usr/bin/env bash
# A service that is asked for minutes, by hand: its memory stays flat, and no limit is ever exceeded.
#
#   ci/soak.sh [MINUTES [CHECKS_A_SECOND]]      10 minutes and 2,000 if not given
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base
cargo run --release -p sluicegate-serve-benches --bin soak -- "$@"
