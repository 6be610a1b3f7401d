#!/usr/bin/env bash
# The loom models, their canary and refused designs, and the mutants of the real
# code, each of which a model must catch.
#
#   ci/loom.sh              models, but for slow ones that have not changed since they passed; then the
#                           mutants that are not in the ledger as they are now, as many as
#                           MUTANT_MINUTES (10) of a processor are enough for
#   ci/loom.sh --mutants    only those mutants, all of them
#   ci/loom.sh --all        all of both, in full
#   ci/loom.sh --deep       models only, with one preemption more than they set
#   ci/loom.sh --unbounded  models only, with any number: days
#
# The ledger, loom-tests/generated/CAUGHT_MUTANTS, has a line for each mutant that was
# caught, with a hash of what that depends on (loom-tests/mutator/src/ledger.rs). It is
# written anew at the end of each run; commit it. One that is older costs time, no more.
#
# A model explores with the bound on preemptions that it sets. Models that take 2 seconds of a processor and more
# are listed in loom-tests/generated/SLOW_MODELS, with the seconds and a hash as mutants have. An ordinary run leaves
# out slow models whose hash is there, and explores the others with one preemption less, or two if they take
# 100 seconds. `--all` explores all of them in full.
#
# LOOM_MAX_PREEMPTIONS=n takes the place of all bounds, in the models and the
# mutants alike; the ledgers are then neither read nor written. The number of executions of
# each model is in models.log, in the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

# Before anything else is built: it fails if a mutant does not apply any more.
[ -n "${MUTATOR:-}" ] || cargo build -q -p sluicegate-mutator
mutator=$(realpath "${MUTATOR:-${CARGO_TARGET_DIR:-target}/debug/sluicegate-mutator}")
export mutator LC_ALL=C
mutants=$("$mutator" list loom-tests/mutants)

# A cfg of our own, so that another crate's `--cfg loom` does not switch this one
# and ours does not switch others.
export RUSTFLAGS="--cfg sluicegate_loom ${RUSTFLAGS:-}"
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}/loom-models" && cd "${CARGO_TARGET_DIR:-target}/loom-models" && pwd)"
export CARGO_TARGET_DIR="$target"
models=(cargo test -q -p sluicegate-loom-tests --profile loom)
# Loom panics at an empty one, and every mutant would seem to be caught.
[ -n "${LOOM_MAX_PREEMPTIONS:-}" ] || unset LOOM_MAX_PREEMPTIONS

case "${1:-}" in
    "" | --mutants | --all) ;;
    --deep) export LOOM_DEEPER=1 ;;
    --unbounded) export LOOM_UNBOUNDED=1 ;;
    *) echo "usage: ci/loom.sh [--mutants | --all | --deep | --unbounded]" >&2; exit 2 ;;
esac

export work="$target"
ledger=loom-tests/generated/CAUGHT_MUTANTS slow=loom-tests/generated/SLOW_MODELS
sort <<<"$mutants" >"$work/mutants"

# Of a build with these arguments, the test binaries.
binaries_of() {
    "${models[@]}" "$@" --no-run --message-format=json-render-diagnostics |
        sed -nE 's/.*"executable":"([^"]+)".*/\1/p'
}

# The seconds of a processor that a command takes, whose output goes to a log, in `took`.
cpu_seconds() {
    local output=$1 TIMEFORMAT="%U %S"
    shift
    took=$({ time "$@" >"$output" 2>&1 || true; } 2>&1 | awk '{ print int($1 + $2 + 0.5) }')
}

# Each model in a process of its own, as many at once as there are processors: a file
# after the other would leave processors idle while the last model of each goes on. The slow
# ones first, or the last would run alone.
model() {
    local fewer=$1 file=$2 name=$3 binary=$4 log="$work/models/$2.$3" took finished
    [ "$fewer" = 0 ] || export LOOM_DEEPER=-$fewer
    cpu_seconds "$log" "$binary" --exact "$file::$name" --nocapture
    # Run, and not only named.
    grep -q '^test result: ok. 1 passed' "$log" || { cat "$log"; echo "loom: $file: $name fails"; touch "$work/failed"; }
    echo "$file $name $took $fewer" >>"$work/models.times"
    finished=$(wc -l <"$work/models.times")
    [ $((finished % 20)) != 0 ] || echo "$finished of $(wc -l <"$work/models.run") models"
}

run_models() {
    local binary canaries refused names passed
    rm -rf "$work/models" "$work/models.times" "$work/failed"
    mkdir "$work/models"
    # All files as one program: one for each takes nearly twice as long to build.
    [ "$(grep -c '^mod ' loom-tests/models.rs)" = "$(find loom-tests/tests -name '*.rs' | wc -l)" ] \
        || { echo "loom: loom-tests/models.rs does not have each file of loom-tests/tests"; exit 1; }
    binary=$(binaries_of --test models)
    "$binary" --list --format terse | sed -n "s|\(.*\)::\(.*\): test$|\1 \2 $binary|p" >"$work/models.list"
    "$mutator" models >"$work/models.hashes"
    # Of each model the seconds that it takes, and how many preemptions fewer it gets. Slow ones that passed as they are: none.
    awk -v slow="$slow" -v hashes="$work/models.hashes" -v unchanged="$work/models.unchanged" \
        -v ordinary="$([[ ${1:-} = "" && -z ${LOOM_MAX_PREEMPTIONS:-} ]] && echo 1)" '
        BEGIN { printf "" >unchanged }
        FILENAME == slow { took[$1, $2] = $3; passed[$1, $2] = $4; next }
        FILENAME == hashes { hash[$1, $2] = $3; next }
        { seconds = took[$1, $2] + 0 }
        ordinary && seconds >= 2 && $1 != "refused" && $2 !~ /^canary_/ && passed[$1, $2] == hash[$1, $2] { print $1, $2 >unchanged; next }
        { print seconds, ordinary ? (seconds >= 2) + (seconds >= 100) : 0, $0 }
    ' "$slow" "$work/models.hashes" "$work/models.list" | sort -rn | cut -d' ' -f2- >"$work/models.run"
    export -f model cpu_seconds
    xargs -P "$(nproc)" -L 1 bash -c 'model "$@"' _ <"$work/models.run"
    (cd "$work/models" && tail -n +1 -- *) >"$work/models.log"
    [ ! -e "$work/failed" ] || { echo "loom: a model fails"; exit 1; }
    count() { cut -d' ' -f2- "$work/models.run" | grep -cE "$1" || true; }
    canaries=$(count ' canary_')
    # The designs, and a control that the same models let pass.
    refused=$(count '^refused .*exceed')
    names=$(count '^names ')
    passed=$(($(count .) - canaries - refused - names))
    [ "$canaries" -gt 0 ] && [ "$refused" -gt 0 ] || { echo "loom: no canary was run"; exit 1; }
    echo "models: $passed passed, canaries: $canaries caught, refused designs: $refused caught ($SECONDS s)"
    [ ! -s "$work/models.unchanged" ] || echo "left for ci/loom.sh --all: $(wc -l <"$work/models.unchanged") slow models, unchanged since they passed"
    printf '\nslowest models, by seconds of a processor\n'
    sort -rn -k 3 "$work/models.times" | awk 'NR <= 5 { printf "%5d s  %s: %s\n", $3, $1, $2 }'
    awk '$4 > 0 { n++ } END { if (n) print n " slow models explored with fewer preemptions than they set: ci/loom.sh --all explores them in full" }' \
        "$work/models.times"
    [[ -z ${LOOM_MAX_PREEMPTIONS:-} && ${1:-} =~ ^(--all)?$ ]] || return 0
    # The seconds of models that were explored in full, as they took now; of the others, as they took then.
    awk -v slow="$slow" -v hashes="$work/models.hashes" -v times="$work/models.times" '
        FILENAME == slow { took[$1, $2] = $3; passed[$1, $2] = $4; next }
        FILENAME == hashes { hash[$1, $2] = $3; next }
        FILENAME == times { if ($4 == 0) took[$1, $2] = $3; passed[$1, $2] = hash[$1, $2]; next }
        took[$1, $2] >= 2 { print $1, $2, took[$1, $2], passed[$1, $2] }
    ' "$slow" "$work/models.hashes" "$work/models.times" "$work/models.list" | sort >"$work/models.slow"
    cmp -s "$work/models.slow" "$slow" || cp "$work/models.slow" "$slow"
}
if [ "${1:-}" != --mutants ]; then run_models "${1:-}"; fi
[[ ${1:-} =~ ^(--all|--mutants)?$ ]] || exit 0

# A mutant is a row of a table (loom-tests/mutator). It is built and run in a copy of the
# sources, so that the tree is never touched, and in a target folder of its own: cargo takes
# two workspaces with the same files for one, and would run a mutant as the model.
# As many at once as there are processors, each in a copy and a folder of theirs, where
# one follows the other: what no mutant changes is compiled once.
mutant() {
    local name=$1 copy="$work/mutant-$slot" log="$work/mutant-$slot.log" catchers missed took
    if [ -n "$seconds" ] && awk -v seconds="$seconds" '{ sum += $1 } END { exit (sum < seconds) }' "$work/mutants.times"; then
        echo "$name" >>"$work/left"
        return 0
    fi
    export CARGO_TARGET_DIR="$work/mutants-$slot" CARGO_INCREMENTAL=1
    read -r -a catchers <<<"$(awk -v name="$name" '$1 == name { gsub(",", " ", $3); print $3 }' "$work/mutants")"
    # What it writes is newer than what was built last, or cargo would take that for it.
    "$mutator" apply loom-tests/mutants "$name" "$copy" || return 0
    cpu_seconds "$log.missed" escaped_from "$copy" "${catchers[@]}"
    missed=$(<"$log.missed")
    "$mutator" restore loom-tests/mutants "$name" "$copy" || exit 255
    touch "$work/$([ -n "$missed" ] && echo escaped || echo caught)/$name"
    echo "$took $name" >>"$work/mutants.times"
    printf '%4d/%d  %-44s %5d  %s\n' "$(wc -l <"$work/mutants.times")" "$(wc -l <"$work/changed")" \
        "$name" "$took" "${missed:-${catchers[*]}}"
}

# Prints which of these models do not catch what is built in this folder, if any.
escaped_from() {
    cd "$1" || { echo "NOT RUN"; return; }
    shift
    local model files=() binaries missed=()
    local -A file
    # Only the files with the models that are to catch it.
    for model in "$@"; do
        file[$model]=$(basename "$(grep -l "fn $model()" loom-tests/tests/*.rs)" .rs)
        files+=(--test "${file[$model]}")
    done
    # A mutant that does not build is not caught, it is broken.
    binaries=$(binaries_of "${files[@]}" 2>"$log") || { echo "DOES NOT BUILD"; cat "$log"; return; }
    for model in "$@"; do
        # A model that a mutant makes endless is stopped; that does not count. By the time of
        # a processor, and not of the wall: the machine may have others at work.
        # The shell tells of one that aborts, which is no word of the models.
        { (
            ulimit -t 600
            exec "$(grep -E "/${file[$model]}-[0-9a-f]+$" <<<"$binaries")" --exact "$model"
        ) >"$log" 2>&1; } 2>/dev/null
        # Or it failed with an answer that is such nonsense that it cannot be displayed, or with
        # callers that are still in line, whose leaving fails as well.
        if ! grep -qE '^test result: FAILED. 0 passed; 1 failed|panicked while processing panic|panic in a destructor during cleanup' "$log"; then
            missed+=("$model")
            cp "$log" "$work/escaped-$name.log"
        fi
    done
    [ ${#missed[@]} -eq 0 ] || echo "ESCAPED ${missed[*]}"
}

# Those that were caught, now or before, as they are now. Also if the run is broken off.
record() {
    [ -z "${LOOM_MAX_PREEMPTIONS:-}" ] || return 0
    { cat "$work/known"; ls "$work/caught"; } | sort -u | comm -23 - <(ls "$work/escaped") |
        join -o 1.1,2.2 - "$work/mutants" >"$work/ledger.new"
    cmp -s "$work/ledger.new" "$ledger" || cp "$work/ledger.new" "$ledger"
}

rm -rf "$work/caught" "$work/escaped" "$work"/escaped-* "$work"/mutant-*
mkdir "$work/caught" "$work/escaped"
: >"$work/mutants.times"
: >"$work/left"
# In the ledger as they are now.
if [ -f "$ledger" ]; then
    comm -12 <(cut -d' ' -f1,2 "$work/mutants") <(sort "$ledger") | cut -d' ' -f1 >"$work/known"
else
    : >"$work/known"
fi
if [ "${1:-}" = --all ] || [ -n "${LOOM_MAX_PREEMPTIONS:-}" ]; then
    : >"$work/unchanged"
else
    cp "$work/known" "$work/unchanged"
fi
# Those of one model after the other, so that less is compiled in between.
comm -23 <(cut -d' ' -f1 "$work/mutants") "$work/unchanged" | join - "$work/mutants" | sort -k 3 | cut -d' ' -f1 >"$work/changed"
seconds=""
[ -n "${1:-}" ] || seconds=$((${MUTANT_MINUTES:-10} * 60))
export seconds
trap record EXIT

if [ -s "$work/changed" ]; then
    for ((slot = 0; slot < $(nproc); slot++)); do
        mkdir -p "$work/mutant-$slot" "$work/mutants-$slot"
        tar -cf - --exclude=./target --exclude=./.git --exclude=./fuzz . | tar -xmf - -C "$work/mutant-$slot"
        # With what the models were built from, but for our own crates.
        [ -d "$work/mutants-$slot/loom" ] || [ ! -d "$work/loom" ] || tar -C "$work" -cf - --exclude='*sluicegate*' \
            --exclude='incremental' loom | tar -xf - -C "$work/mutants-$slot"
    done
    export -f mutant escaped_from binaries_of cpu_seconds
    printf '\n%-53s %7s  %s\n' mutant "cpu s" "caught by"
    xargs -P "$(nproc)" --process-slot-var=slot -I{} bash -c "$(declare -p models)"'; set -uo pipefail; mutant {}' \
        <"$work/changed"
    rm -rf "$work"/mutant-*
fi
total=$(wc -l <"$work/mutants")
unchanged=$(wc -l <"$work/unchanged")
fresh=$(find "$work/caught" -type f | wc -l)
left=$(wc -l <"$work/left")

echo
echo "mutants: $((unchanged + fresh)) of $total caught ($fresh run now, $unchanged unchanged since they were caught)"
[ "$left" = 0 ] || { echo "LEFT for ci/loom.sh --mutants, after $((seconds / 60)) minutes of a processor: $left changed mutants"; paste -sd' ' "$work/left" | fold -sw 120; }
[ "$total" -gt 0 ] && [ "$((unchanged + fresh + left))" -eq "$total" ] || { echo "loom: a mutant escaped"; exit 1; }
