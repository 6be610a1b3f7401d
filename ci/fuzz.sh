#!/usr/bin/env bash
# Fuzzing, by hand: every target for some seconds, starting from what earlier
# runs have found. A failing input is left in fuzz/artifacts; its bytes belong
# into `FOUND` in tests/replay.rs.
#
#   ci/fuzz.sh                60 seconds for each target
#   ci/fuzz.sh SECONDS        so many
#   ci/fuzz.sh --build        only builds the targets
#
# Fuzzing needs nightly. tests/replay.rs runs the same code on the stable
# toolchain, on a few thousand inputs, in every test run.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
[[ $seconds =~ ^(--build|[0-9]+)$ ]] || { echo "usage: ci/fuzz.sh [SECONDS | --build]" >&2; exit 2; }

ci/setup.sh nightly
cargo fuzz --version >/dev/null 2>&1 || cargo install -q --locked cargo-fuzz

if [ "$seconds" = --build ]; then
    cargo +nightly fuzz build
    exit
fi
for target in $(cargo +nightly fuzz list); do
    echo "fuzz: $target, $seconds s"
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -max_len=512 -print_final_stats=1
done
