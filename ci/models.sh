#!/usr/bin/env bash
# The step models with all their configurations: some minutes. `cargo test -p sluicegate-step-models`
# searches smaller ones of each.
#
#   ci/models.sh [FILTER]
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTFLAGS="--cfg sluicegate_deep ${RUSTFLAGS:-}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/models"
cargo test --release -p sluicegate-step-models "${1:-}" -- --test-threads=1
