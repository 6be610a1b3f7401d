#!/usr/bin/env bash
# The documentation builds without a warning.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTDOCFLAGS="-D warnings" cargo doc -q --workspace --no-deps --features sluicegate/serde
RUSTDOCFLAGS="-D warnings" cargo doc -q -p sluicegate --no-deps --no-default-features \
    --target-dir "${CARGO_TARGET_DIR:-target}/docs-no-std"
