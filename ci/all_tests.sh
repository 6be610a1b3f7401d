#!/usr/bin/env bash
# Every test of every package: those too that ci/test.sh leaves out, the models on real threads, the benches once
# each, and all random cases, others each time. ci/deep.sh runs it.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base browser proxies

# The sources of the engine once more, under another name, have no tests of their own.
packages=(--workspace --exclude sluicegate-counted)
built=${CARGO_TARGET_DIR:-target}/debug

FULL_TESTS=1 cargo test "${packages[@]}" --lib --bins --tests --examples
# The command as `cargo run` builds it, without the service.
cargo test -p sluicegate-cli --test cli -- command::statuses
# As the tests are built: nothing is timed here, and a release build of all peers takes
# longer than all that is run.
cargo test "${packages[@]}" --bench '*'
"$built/costs" >/dev/null
"$built/contend" --json --ms 2 --rounds 1 --retries 0 --keys 1000 >/dev/null
