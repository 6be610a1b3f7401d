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
# requirements, sharded, key_table, keyed and hot_keys but for some, and those skipped by
# name below), calendars (one word each, and files of zones), and the unit tests that try
# every value of a byte or every small state: hours, for code without a pointer.
set -euo pipefail
cd "$(dirname "$0")/.."

unit_seeds=1
seeds=2
if [ $# -gt 0 ]; then
    [ "$1" = --seeds ] && [ $# -eq 2 ] || { echo "usage: ci/miri.sh [--seeds N]" >&2; exit 2; }
    unit_seeds=$2 seeds=$2
fi

ci/setup.sh nightly

# The programs of the tests of the engine and of the crate flow, each compiled once for all.
engine="sluicegate keyed,wait,tokio --test engine --"
flow="sluicegate-flow futures,tokio --test flow --"

flags="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check"
flags+=" -Zmiri-compare-exchange-weak-failure-rate=0.5 -Zmiri-preemption-rate=0.05"

# miri SEED PACKAGE FEATURES ARGUMENT...
miri() {
    local log leaks=""
    log=$(mktemp)
    # The thread of the timer for any executor never ends, which Miri takes for a leak.
    [[ $* != *wait::* ]] || leaks=" -Zmiri-ignore-leaks"
    # A filter that no test has must not pass.
    if MIRIFLAGS="$flags$leaks -Zmiri-seed=$1" cargo +nightly miri test -q -p "$2" \
        --no-default-features --features "$3" "${@:4}" >"$log" 2>&1 &&
        grep -qE '^test result: ok\. [1-9]' "$log"; then
        echo "miri: passed with seed $1 ($SECONDS s): ${*:4}"
        rm "$log"
    else
        cat "$log"
        echo "miri: failed with seed $1: ${*:4}"
        # Nothing more is begun.
        exit 255
    fi
}
# Prints the runs of $1 schedules of this package with these features and arguments.
schedules() {
    local seed
    for ((seed = 0; seed < $1; seed++)); do
        echo "$seed ${*:2}"
    done
}
# Once, and not by each of the first.
cargo +nightly miri setup -q

export -f miri
export flags

# One interpreter runs on one processor, so there is one for each; the longest first.
{
    schedules "$unit_seeds" $engine snapshots:: clock_faults:: window_races:: leases:: \
        --skip alone --skip early --skip deepest --skip others_wait
    schedules "$unit_seeds" sluicegate std,keyed --lib -- --skip wherever_the_circle_is_cut \
        --skip never_past_what_is_accrued --skip every_value_of_a_small_word \
        --skip every_small_state --skip the_exact_weight --skip so_many_steps_back \
        --skip keyed::table::ticks --skip keyed::table::home --skip keyed::prepay --skip settle::lots \
        --skip every_short_history
    # A line of thousands takes minutes.
    schedules "$unit_seeds" sluicegate wait --lib -- wait:: --skip timer::thread \
        --skip as_many_places --skip without_places
    # Two tests of the line leak on purpose what their wakers own; random calls take long.
    schedules "$unit_seeds" $engine wait::caller wait::faults wait::resource wait::limits \
        wait::reserve wait::wrapped gates_give_estimates granted_in_order end_in_the_order --skip a_waker_may_drop --skip the_old_waker \
        --skip reserve_in_line::random --skip reserve_in_line::least
    # Those that take long on one thread, or have no lengths for Miri.
    schedules "$unit_seeds" $engine wait::queued wait::storm_queued --skip crowds --skip random --skip several_limiters_cost
    schedules "$unit_seeds" $engine settle::windows several_windows_settle --skip three_quarters --skip least_that
    schedules "$unit_seeds" sluicegate-flow tokio --lib -- block_on time_limit word --skip spawn::tokio
    schedules "$unit_seeds" $flow rate_limited:: --skip random
    schedules "$unit_seeds" $flow warm_up:: --skip random
    schedules "$unit_seeds" $flow shaper::
    # One compares an instant that is later here, where compare-exchanges fail at random.
    schedules "$unit_seeds" $flow time_limit:: admission:: --skip by_default_needs_no_runtime \
        --skip any_limiter_with_a_line
    schedules "$unit_seeds" $engine hot_keys::threads --skip each_reset
    schedules "$unit_seeds" $engine key_table::answers::each_key key_table::answers::a_receipt
    schedules "$unit_seeds" $engine buckets:: shapes:: live_terms:: counted:: \
        --skip extremes --skip again_and_again --skip tolerance
    # Ceilings take ten thousand calls to reach.
    schedules "$unit_seeds" $engine penalty::races penalty::story penalty::clocks shares::threads shares::places priorities:: \
        --skip ceiling
    schedules "$unit_seeds" $flow concurrency::threads concurrency::adaptive concurrency::parts \
        storm_of_threads_and_tasks threads_and_tasks_stand owned_guard no_permits_are_always permits_come_back \
        permits_that_were_granted permits_granted_to granted_permits
    schedules "$seeds" $engine stress::
    schedules "$seeds" $engine linearizability::
    schedules "$unit_seeds" $engine sharded::races::no_permit sharded::races::leases sharded::races::changes
    schedules "$unit_seeds" $engine drops::a_store_is_dropped credit::what_is_credited keyed::closures
} | xargs -P "$(nproc)" -L 1 bash -c 'miri "$@"' _ || { echo "miri: a test fails"; exit 1; }
