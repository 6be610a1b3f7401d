# Sourced by ci/test.sh and ci/deep.sh: what each stage takes of the processors. Half of that is the least that
# two idle ones need, whatever else the machine did meanwhile.

notes=$(mktemp -d)
trap 'rm -rf "$notes"' EXIT
export TEST_TIMES="$notes/tests"
: >"$TEST_TIMES"
: >"$notes/stages"
stage=""

# The processor time of all that this script has waited for, in seconds.
spent() {
    # Not in a subshell, whose times are its own.
    times >"$notes/times"
    sed -n 2p "$notes/times" | sed 's/[ms]/ /g' | awk '{ printf "%.1f\n", $1 * 60 + $2 + $3 * 60 + $4 }'
}

# Begins a stage, and notes what the one before took.
step() {
    spent >"$notes/spent"
    if [ -n "$stage" ]; then
        awk -v was="$spent_before" -v s="$((SECONDS - began))" -v stage="$stage" \
            '{ printf "%6.0f %6d  %s\n", $1 - was, s, stage }' "$notes/spent" >>"$notes/stages"
    fi
    spent_before=$(<"$notes/spent") began=$SECONDS stage=$1
    printf '\n=== %s (%ds)\n' "$stage" "$SECONDS"
}

# Runs tests as `cargo` would with these arguments, each with its time (ci/timed.sh).
timed() {
    local runner
    runner=CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER
    env "$runner=$PWD/ci/timed.sh" "$@"
}

# Ends the last stage, and prints the slowest tests and what each stage took.
stage_times() {
    step "what took how long"
    if [ -s "$TEST_TIMES" ]; then
        printf 'slowest tests, by the wall\n'
        sort -rn "$TEST_TIMES" | awk 'NR <= 10 { printf "%6.1f s  %s: %s\n", $1 / 1000, $2, $3 }'
    fi
    printf '\n%6s %6s  %s\n' cpu wall "seconds of each stage"
    cat "$notes/stages"
    awk '{ cpu += $1; wall += $2 } END { printf "%6d %6d  in all: %.0f minutes of two processors\n", cpu, wall, cpu / 120 }' "$notes/stages"
}
