#!/usr/bin/env bash
# The documentation builds without a warning: of a dead link, too.
set -euo pipefail
cd "$(dirname "$0")/.."

# With an example, the dependencies have the same features as for tests and clippy, and are not checked
# anew; the patterns are those of all programs but `sluicegate`, whose page would be that of the engine.
RUSTDOCFLAGS="-D warnings" cargo doc -q --workspace --no-deps --features sluicegate/serde \
    --lib --bin '[!s]*' --bin 's[!l]*' --bin 'sluicegate-*' --example gateway
RUSTDOCFLAGS="-D warnings" cargo doc -q -p sluicegate --no-deps --no-default-features \
    --target-dir "${CARGO_TARGET_DIR:-target}/docs-no-std"
# With the default features.
RUSTDOCFLAGS="-D warnings" cargo doc -q -p sluicegate --no-deps --target-dir "${CARGO_TARGET_DIR:-target}/docs-default"
