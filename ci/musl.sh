#!/usr/bin/env bash
# Builds the command as one static file, with limits on Redis, and sees that it needs no library, and that it serves and answers, also
# by a Redis server; and that systemd takes the unit. By hand: it is a release build, of minutes.
#
#   ci/musl.sh [image]     image: puts it into the image of the Dockerfile too, and asks that (needs docker)
set -euo pipefail
cd "$(dirname "$0")/.."

[[ ${1:-} =~ ^(image)?$ ]] && [ $# -le 1 ] || { echo "usage: ci/musl.sh [image]" >&2; exit 2; }
die() { echo "musl: $*" >&2; exit 1; }

ci/setup.sh base musl
target=x86_64-unknown-linux-musl
cargo build --release -p sluicegate-cli --all-features --target "$target"
binary=$(realpath "${CARGO_TARGET_DIR:-target}/$target/release/sluicegate")
readelf -d "$binary" | grep NEEDED && die "$binary needs libraries"
readelf -l "$binary" | grep INTERP && die "$binary needs a loader"

work=$(mktemp -d)
cleanup() {
    [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
    [ -z "${redis:-}" ] || kill "$redis" 2>/dev/null || true
    [ -z "${container:-}" ] || docker rm -f "$container" >/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

# Waits until a server at an address answers a question to the bundled policy.
asks() {
    local answer="" tries
    for tries in $(seq 100); do
        answer=$(curl -s "http://$1/v1/check" -H 'Content-Type: application/json' \
            -d '{"limiter":"per-client","key":"192.0.2.7"}') && break
        sleep 0.1
    done
    [[ $answer == *'"decision":"granted"'* ]] || die "$1 answered '$answer' after $tries tries"
}

# Serves a policy, with more arguments, and asks it.
serves() {
    "$binary" serve --listen "$address" --policy "$@" 2>"$work/log" &
    server=$!
    asks "$address"
    kill -TERM "$server"
    wait "$server" || die "it did not end well: $(cat "$work/log")"
    server=""
}

address=127.0.0.1:${PORT:-18099}
serves crates/replay/sample/policy.toml
cat >"$work/policy.toml" <<'TOML'
limiters.per-client = { key = "client", policy = "fixed_window", limit = 9, interval = "1 day" }
TOML
redis-server --port 0 --unixsocket "$work/redis" --save "" >/dev/null &
redis=$!
until redis-cli -s "$work/redis" ping 2>/dev/null | grep -q PONG; do
    kill -0 "$redis" || die "no Redis server"
    sleep 0.1
done
serves "$work/policy.toml" --redis "unix://$work/redis"
[ -n "$(redis-cli -s "$work/redis" --scan)" ] || die "nothing is on the Redis server"
echo "static, $(du -h "$binary" | cut -f1); it serves, answers and ends, also by a Redis server"

if command -v systemd-analyze >/dev/null; then
    # With the program where it is, not where it will be, and the part with the token from the page.
    here() { sed "s|/usr/local/bin/sluicegate|$binary|"; }
    here <docs/sluicegate.service >"$work/sluicegate.service"
    mkdir "$work/sluicegate.service.d"
    sed -n '/^# systemctl edit/,/^```$/p' docs/serve.md | grep -v '^```' | here >"$work/sluicegate.service.d/token.conf"
    grep -q LoadCredential "$work/sluicegate.service.d/token.conf" || die "docs/serve.md has no LoadCredential"
    said=$(systemd-analyze verify "$work/sluicegate.service" 2>&1) || die "systemd: $said"
    [ -z "$said" ] || die "systemd: $said"
    echo "systemd takes the unit, and the part with the token"
else
    echo "not tried: there is no systemd-analyze, so the unit was not read"
fi

if [ "${1:-}" = image ]; then
    mkdir "$work/image"
    cp "$binary" "$work/image/"
    docker build -q -f Dockerfile -t sluicegate "$work/image" >/dev/null || die "no image"
    container=$(docker run -d -p "$address:8080" -v "$PWD/crates/replay/sample/policy.toml:/limits.toml:ro" sluicegate \
        serve --listen 0.0.0.0:8080 --policy /limits.toml)
    asks "$address"
    echo "the image serves and answers"
fi
