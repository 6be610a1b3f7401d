#!/usr/bin/env bash
# The workspace builds on the minimum supported Rust, with its tests and examples.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base msrv

msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# Not the benches: what their peers need is no promise of ours.
cargo "+$msrv" check -q --target-dir "${CARGO_TARGET_DIR:-target}/msrv" --all-targets \
    --workspace --exclude sluicegate-benches --exclude sluicegate-counted
echo "builds on Rust $msrv"
