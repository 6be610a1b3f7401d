#!/usr/bin/env bash
# Instructions that a layer adds to a request, counted by valgrind in this process, without sockets: the
# difference between a long run and a short one, over the calls between them, less that of the bare service.
# The first column is the bare service itself.
#
#     benches/http/instructions.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 1; }

cargo build --quiet --release -p sluicegate-http-benches --bin layer_calls
calls="${CARGO_TARGET_DIR:-target}/release/layer_calls"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# The instructions of CALLS calls, and of nothing else.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect='layer_calls::counted_call*' \
        "$calls" "$1" "$2" "$3" "$4" "$5" 2>&1 | sed -n 's/.*Collected : //p'
}

each() {
    echo $((($(instructions "$1" "$2" "$3" "$4" 20000) - $(instructions "$1" "$2" "$3" "$4" 10000)) / 10000))
}

subjects=(nothing table foldhash table_fields keyed tower_governor tower_governor_fields)
printf '%-8s %-6s %8s %8s' level answer clients bare
printf ' %s' "${subjects[@]}"
for level in service router around; do
    for row in 'allow 1' 'allow 100000' 'deny 1'; do
        read -r outcome clients <<<"$row"
        bare=$(each bare "$level" "$outcome" "$clients")
        printf '\n%-8s %-6s %8s %8s' "$level" "$outcome" "$clients" "$bare"
        for subject in "${subjects[@]}"; do
            printf " %${#subject}s" "+$(($(each "$subject" "$level" "$outcome" "$clients") - bare))"
        done
    done
done
echo
