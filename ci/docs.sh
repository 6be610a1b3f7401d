#!/usr/bin/env bash
# The documentation builds without a warning, and no link in it is dead.
set -euo pipefail
cd "$(dirname "$0")/.."

# With an example, the dependencies have the same features as for tests and clippy, and are not checked
# anew; the patterns are those of all programs but `sluicegate`, whose page would be that of the engine.
RUSTDOCFLAGS="-D warnings" cargo doc -q --workspace --no-deps --features sluicegate/serde \
    --lib --bin '[!s]*' --bin 's[!l]*' --bin 'sluicegate-*' --example gateway
ci/links.sh "${CARGO_TARGET_DIR:-target}/doc"
RUSTDOCFLAGS="-D warnings" cargo doc -q -p sluicegate --no-deps --no-default-features \
    --target-dir "${CARGO_TARGET_DIR:-target}/docs-no-std"
# The front page of a build without the other features links to the list of features.
RUSTDOCFLAGS="-D warnings" cargo doc -q -p sluicegate --no-deps --target-dir "${CARGO_TARGET_DIR:-target}/docs-default"
ci/links.sh "${CARGO_TARGET_DIR:-target}/docs-default/doc"
