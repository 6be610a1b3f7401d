#!/usr/bin/env bash
# A literal that is out of range or misspelt fails in `cargo check`, not only when code is
# generated, and the error says what is allowed.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
mkdir "$package/src"
cat >"$package/Cargo.toml" <<TOML
[package]
name = "literals"
version = "0.0.0"
edition = "2024"

[dependencies]
sluicegate = { path = "$root", default-features = false }

[workspace]
TOML
cp Cargo.lock "$package/"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/literals

units="ns, us, ms, second, minute, hour"
failed=0
# The literal, and a part of what the compiler says of it; or nothing, if it is to compile.
expect() {
    echo "pub fn generic<T>(_: T, variable: u64) { _ = variable; let _ = sluicegate::$1; }" >"$package/src/lib.rs"
    if said=$(CARGO_TARGET_DIR=$target cargo check -q --manifest-path "$package/Cargo.toml" 2>&1); then said=""; fi
    if [ -z "$2" ] && [ -z "$said" ]; then return; fi
    if [ -n "$2" ] && grep -qF "$2" <<<"$said"; then return; fi
    echo "literals: $1: expected \"$2\", and cargo check said: $said" >&2
    failed=1
}

expect 'quota!(100 / second, burst 20, refill interval, max_debt 0)' ""
expect 'rate!(5 / 15 minutes)' ""
expect 'quota!(0 / second)' "permits must be from 1 to 2^32"
expect 'quota!(4_294_967_297 / day)' "permits must be from 1 to 2^32"
expect 'quota!(1 / 0 seconds)' "period must be from 1 ns to 100 years"
expect 'quota!(2_147_483_649 / second)' "rate must be at most 2^31 permits per second"
expect 'quota!(5 / second, burst 0)' "burst must be from 1 to 2^32"
expect 'quota!(5 / second, max_debt 4_294_967_296)' "max_debt must be from 0 to 2^32 - 1"
expect 'quota!(5 / second, initial 1)' "must be burst, refill or max_debt"
expect 'quota!(5 / fortnight)' "must be $units or day, or a plural of the last four"
expect 'quota!(5 per second)' "the units are $units and day"
expect 'rate!(0 / second)' "permits must be from 1 to 2^32"
expect 'rate!(-1 / second)' "the units are $units and day"
expect 'quota!(variable / second)' "TAKES_CONSTANTS_ONLY_OTHERWISE_CALL_QUOTA_NEW"
expect 'quota!(5 / second, burst variable)' "TAKES_CONSTANTS_ONLY_OTHERWISE_CALL_QUOTA_NEW"
expect 'rate!(variable / second)' "TAKES_CONSTANTS_ONLY_OTHERWISE_CALL_RATE_NEW"
expect 'rate!(5 / 2 fortnights)' "must be $units or day, or a plural of the last four"
exit "$failed"
