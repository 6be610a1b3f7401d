#!/usr/bin/env bash
# The engine builds with every set of features, and without std for four targets. Its unit
# tests run with three of those sets. The other packages build with each of their features.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base targets

for features in "" alloc std quanta keyed wait tokio "huge-pages,keyed" per-cpu "per-cpu,portable-atomic" serde "std,serde" calendar "calendar,portable-atomic" portable-atomic "quanta,portable-atomic,serde"; do
    echo "features: ${features:-none}"
    cargo clippy -q -p sluicegate --lib --no-default-features --features "$features" -- -D warnings
done
# Limits of another kind, with each of their features.
for features in "" quanta tokio futures "futures,tokio"; do
    cargo clippy -q -p sluicegate-flow --lib --no-default-features --features "$features" -- -D warnings
done
# The layer for web servers, with each of their features, and the one for clients.
for features in "" axum grpc tonic policy outgoing reqwest; do
    cargo clippy -q -p sluicegate-http --lib --features "$features" -- -D warnings
done
# Metrics of each part of it alone.
for features in "" policy http redis tracing; do
    cargo clippy -q -p sluicegate-metrics --lib --features "$features" -- -D warnings
done
# The limits on a Redis server, by any client, and by each of those that it has.
for features in "" async http pool policy "async,cluster,pool,sentinel,tls"; do
    cargo clippy -q -p sluicegate-redis --lib --no-default-features --features "$features" -- -D warnings
done
# Policies as data alone, at work in a program, and with what reloads them.
for features in "" registry watch; do
    cargo clippy -q -p sluicegate-policy --lib --no-default-features --features "$features" -- -D warnings
done
# What `cargo run` builds, whose dependencies have fewer features than beside all other packages;
# and with a client of Redis, by TLS too.
cargo clippy -q -- -D warnings
cargo clippy -q -p sluicegate-cli --features redis-tls -- -D warnings
cargo test -q -p sluicegate --lib --features portable-atomic,serde
cargo test -q -p sluicegate --lib --no-default-features --features alloc
# Tokio's timer and clock, and their examples; and shards of CPUs, alone and in limiters.
more=per-cpu,tokio
cargo test -q -p sluicegate --lib --features "$more"
cargo test -q -p sluicegate --test per_cpu --features "$more"
cargo test -q -p sluicegate --test engine --features "$more" -- sharded:: leases::
cargo test -q -p sluicegate --doc --features "$more" -- tokio

# Built without std, whether or not the target has one.
for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu wasm32-unknown-unknown; do
    echo "no_std: $target"
    cargo build -q -p sluicegate --lib --no-default-features --target "$target"
done
# A Cortex-M4 has no 64-bit atomics.
echo "no_std: thumbv7em-none-eabihf, with portable-atomic"
cargo build -q -p sluicegate --lib --no-default-features --features portable-atomic --target thumbv7em-none-eabihf
