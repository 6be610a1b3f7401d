#!/usr/bin/env bash
# Instructions of a server for a request over one connection, counted by valgrind: its thread alone, without the
# kernel's. The difference between a long run and a short one, over the requests between them. `hello` is a server
# of the same stack that decides nothing; a batch has 100 checks, and its row tells a check's part of it too.
#
#     benches/serve/instructions.sh [CASE...]
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 1; }

cases=("$@")
[ ${#cases[@]} -gt 0 ] || cases=(hello check peek auth batch grpc_hello grpc)

cargo build --quiet --release -p sluicegate-serve-benches --bin request_calls
calls="${CARGO_TARGET_DIR:-target}/release/request_calls"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# The instructions of the server's thread in a run of so many requests.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect='request_calls::counted_server*' \
        "$calls" "$1" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}

printf '%-12s %12s %12s\n' case request check
for case in "${cases[@]}"; do
    each=$((($(instructions "$case" 3000) - $(instructions "$case" 1000)) / 2000))
    [ "$case" = batch ] && check=$((each / 100)) || check=
    printf '%-12s %12s %12s\n' "$case" "$each" "$check"
done
