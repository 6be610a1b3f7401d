#!/usr/bin/env bash
# Miri: undefined behaviour, weak memory, and compare-exchanges that fail for no
# reason, over several schedules of the unit tests and the concurrency tests.
#
#   ci/miri.sh                two schedules of the stress and linearizability tests, one of
#                             the rest
#   ci/miri.sh --seeds N      N schedules of each: 64 take an hour or two
#
# Built without `quanta`, because Miri has no processor counter. The files under
# tests/ shorten themselves under Miri. Left out are those that only do arithmetic
# on one thread (properties, windows, window_edges, replay, rate_error, conformance,
# requirements, step_models, sharded, key_table, keyed and hot_keys but for some), calendars
# (one word each, and files of zones), and the unit tests that try every value of a byte or
# every small state: hours, for code without a pointer.
set -euo pipefail
cd "$(dirname "$0")/.."

unit_seeds=1
seeds=2
if [ $# -gt 0 ]; then
    [ "$1" = --seeds ] && [ $# -eq 2 ] || { echo "usage: ci/miri.sh [--seeds N]" >&2; exit 2; }
    unit_seeds=$2 seeds=$2
fi

ci/setup.sh nightly

flags="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check"
flags+=" -Zmiri-compare-exchange-weak-failure-rate=0.5 -Zmiri-preemption-rate=0.05"

features=std

# miri SEEDS ARGUMENT...
miri() {
    MIRIFLAGS="$flags -Zmiri-many-seeds=0..$1" cargo +nightly miri test -q -p sluicegate \
        --no-default-features --features "$features" "${@:2}"
}

miri "$unit_seeds" --lib -- --skip wherever_the_circle_is_cut \
    --skip never_past_what_is_accrued --skip every_value_of_a_small_word --skip every_small_state \
    --skip key_table::ticks --skip key_table::place
miri "$unit_seeds" --test verbs --test debts --test shapes --test live_terms \
    --test snapshots --test clock_faults --test window_races --test leases
miri "$unit_seeds" --test sharded -- races::no_permit races::leases races::changes
miri "$unit_seeds" --test key_table -- answers::each_key answers::a_receipt answers::a_look
features=std,keyed miri "$unit_seeds" --test hot_keys -- threads
miri "$seeds" --test stress --test linearizability
