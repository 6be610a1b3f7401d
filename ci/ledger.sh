#!/usr/bin/env bash
# Fails if a mutant is no longer one of the sources as they are, and says which.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run -q -p sluicegate-mutator -- check loom-tests/mutants crates/redis/mutants.toml
cargo run -q -p sluicegate-mutator -- list loom-tests/mutants >/dev/null
