#!/usr/bin/env bash
# Instructions per call, counted by valgrind: the difference between a long run
# and a short one, over the calls between them. Two of them are the loop's.
#
#     benches/instructions.sh [LIMITER...]
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v valgrind > /dev/null; then
    echo "valgrind is not installed" >&2
    exit 1
fi

limiters=("$@")
if [ ${#limiters[@]} -eq 0 ]; then
    limiters=(clock/quanta clock/coarse
        sluicegate/token_bucket sluicegate/token_bucket_interval sluicegate/gcra
        sluicegate/leaky_bucket sluicegate/token_bucket_coarse
        sluicegate/sharded sluicegate/lease
        governor governor_upkeep quota)
fi

cargo build --quiet --release -p sluicegate-benches --bin calls
calls="${CARGO_TARGET_DIR:-target}/release/calls"
out="$(mktemp)"
trap 'rm -f "$out"' EXIT

# The instructions of COUNT calls, and of nothing else.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$out" \
        --toggle-collect='sluicegate_benches::round::calls*' \
        "$calls" "$1" "$2" "$3" 2>&1 | sed -n 's/.*Collected : //p'
}

printf '%-34s %8s %8s\n' limiter allow deny
for limiter in "${limiters[@]}"; do
    row=()
    for op in allow deny; do
        case "$limiter/$op" in
            clock/*/deny) row+=("") ;;
            *) row+=("$((($(instructions "$limiter" $op 20000) - $(instructions "$limiter" $op 10000)) / 10000))") ;;
        esac
    done
    printf '%-34s %8s %8s\n' "$limiter" "${row[@]}"
done
