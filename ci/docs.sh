#!/usr/bin/env bash
# The documentation builds without a warning, and no link in it is dead.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTDOCFLAGS="-D warnings" cargo doc -q --workspace --no-deps --features sluicegate/serde
ci/links.sh "${CARGO_TARGET_DIR:-target}/doc"
RUSTDOCFLAGS="-D warnings" cargo doc -q -p sluicegate --no-deps --no-default-features \
    --target-dir "${CARGO_TARGET_DIR:-target}/docs-no-std"
# The front page of a build without the other features links to the list of features.
RUSTDOCFLAGS="-D warnings" cargo doc -q -p sluicegate --no-deps --target-dir "${CARGO_TARGET_DIR:-target}/docs-default"
ci/links.sh "${CARGO_TARGET_DIR:-target}/docs-default/doc"
