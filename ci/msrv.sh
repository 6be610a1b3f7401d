#!/usr/bin/env bash
# The workspace builds on the minimum supported Rust.
#
#   ci/msrv.sh          libraries and programs, and the tests of the engine
#   ci/msrv.sh --all    tests, examples and benches of all packages too: each night
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base msrv

msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
check=(cargo "+$msrv" check -q --target-dir "${CARGO_TARGET_DIR:-target}/msrv")
# Not the benches: what their peers need is no promise of ours.
packages=(--workspace --exclude sluicegate-benches --exclude sluicegate-counted)
case "${1:-}" in
    "")
        # Without what only tests need, which is half of all dependencies.
        "${check[@]}" "${packages[@]}" --exclude 'sluicegate-*-benches' --exclude 'sluicegate-*-tests' --lib --bins
        "${check[@]}" -p sluicegate --all-targets
        ;;
    --all) "${check[@]}" "${packages[@]}" --all-targets ;;
    *) echo "usage: ci/msrv.sh [--all]" >&2; exit 2 ;;
esac
echo "builds on Rust $msrv"
