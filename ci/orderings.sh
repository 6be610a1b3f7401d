#!/usr/bin/env bash
# Weakens each ordering in `src/` and `crates/flow/src/`, one at a time, and runs the models that the MODEL line
# at that place names: one must fail, and pass when nothing is weakened. Those that no model
# can tell from weaker ones are listed, with the reason, in loom-tests/orderings.txt. By hand:
# it takes a while.
#
#   ci/orderings.sh [--again] [FILTER]
#
# FILTER is a part of a line as they are printed, such as `ring` or `heal load`. What was
# found before is not run again while the sources of the engine and of the models are the
# same, unless by --again. LOOM_MAX_PREEMPTIONS=n takes the place of the bounds of the models,
# and ORDERINGS_SECONDS that of the time, in seconds of a processor, that one run of a model
# may take. ORDERINGS_JOBS=n runs n at once.
#
# The models are built once: in a copy of the sources each ordering is a call that asks
# the environment whether it is the one to be weakened, and to what.
set -euo pipefail
cd "$(dirname "$0")/.."

again=
[ "${1:-}" != --again ] || { again=1; shift; }
filter=${1:-}
export RUSTFLAGS="--cfg sluicegate_loom ${RUSTFLAGS:-}" CARGO_INCREMENTAL=1
work="$(mkdir -p "${CARGO_TARGET_DIR:-target}/orderings" && cd "${CARGO_TARGET_DIR:-target}/orderings" && pwd)"
export CARGO_TARGET_DIR="$work/target" work
listed=loom-tests/orderings.txt
copy="$work/copy"
die() { echo "orderings: $*" >&2; exit 1; }

# A copy in which only what has changed is new, so that cargo builds only that. Another
# comment is no change.
put() {
    [ -f "$2" ] && cmp -s <(sed '\:^ *//:d' "$1") <(sed '\:^ *//:d' "$2") ||
        { mkdir -p "$(dirname "$2")" && cp "$1" "$2"; }
}
mkdir -p "$copy"
git ls-files -co --exclude-standard | grep -v '^fuzz/' >"$work/files"
(cd "$copy" && find . -type f | sed 's|^\./||') | sort | comm -13 <(sort "$work/files") - |
    while read -r gone; do rm -f "$copy/$gone"; done
# Functions that each `sync.rs` has in the copy.
cat >"$work/weakened.rs" <<'RUST'

fn weakening() -> Option<(u32, Ordering)> {
    static WEAKENING: std::sync::OnceLock<Option<(u32, Ordering)>> = std::sync::OnceLock::new();
    *WEAKENING.get_or_init(|| {
        let text = std::env::var("SLUICEGATE_WEAKENED").ok()?;
        let (site, order) = text.split_once(':').unwrap();
        let order = match order {
            "Relaxed" => Ordering::Relaxed,
            "Acquire" => Ordering::Acquire,
            "Release" => Ordering::Release,
            "AcqRel" => Ordering::AcqRel,
            other => unreachable!("{other}"),
        };
        Some((site.parse().unwrap(), order))
    })
}

/// `order`, unless it is the one that is weakened.
pub(crate) fn weakened(site: u32, order: Ordering) -> Ordering {
    use std::io::Write;
    static REACHED: std::sync::Once = std::sync::Once::new();
    match weakening() {
        Some((chosen, weaker)) if chosen == site => {
            // Not by a macro, which the tests would capture.
            REACHED.call_once(|| std::io::stderr().write_all(b"weakened: reached\n").unwrap());
            weaker
        }
        _ => order,
    }
}
RUST
cat >"$work/weakened_fence.rs" <<'RUST'

/// A fence, unless it is weakened to none.
pub(crate) fn weakened_fence(site: u32, order: Ordering) {
    match weakened(site, order) {
        Ordering::Relaxed => {}
        order => fence(order),
    }
}
RUST
: >"$work/sites"
while read -r file; do
    [ -f "$file" ] || continue
    case $file in
        src/sync.rs)
            cat "$file" "$work/weakened.rs" "$work/weakened_fence.rs" >"$work/new"
            put "$work/new" "$copy/$file"
            ;;
        crates/flow/src/sync.rs)
            cat "$file" "$work/weakened.rs" >"$work/new"
            put "$work/new" "$copy/$file"
            ;;
        src/*.rs | crates/flow/src/*.rs)
            awk -v file="${file#src/}" -v first="$(($(wc -l <"$work/sites") + 1))" -v sites="$work/new-sites" \
                -f ci/orderings.awk "$file" >"$work/new"
            cat "$work/new-sites" >>"$work/sites"
            put "$work/new" "$copy/$file"
            ;;
        *) put "$file" "$copy/$file" ;;
    esac
done <"$work/files"

# What there is to try, one line each: number, weaker ordering, place, models. The place
# is what the list and the filter know it by.
awk -F'\t' -v OFS='\t' '
    function try(weaker) { print $1, weaker, $2 " " $3 " " $4 " " $5 " > " weaker, $6, $7 }
    $5 == "Acquire" || $5 == "Release" { try("Relaxed") }
    $5 == "AcqRel" { try("Acquire"); try("Release"); try("Relaxed") }
    $5 == "SeqCst" { try("AcqRel") }
' "$work/sites" | awk -F'\t' -v filter="$filter" 'index($3, filter)' >"$work/tries"
[ -s "$work/tries" ] || die "no ordering is called '$filter'"
awk -F"\t" '$5 == ""' "$work/tries" >"$work/nameless"
! grep . "$work/nameless" || die "these have no MODEL line"

# The files of the models, each built to a program.
cut -f5 "$work/tries" | tr ' ' '\n' | sed '/^none$/d' | sort -u | while read -r model; do
    file=$(grep -l "fn $model()" loom-tests/tests/*.rs) || die "no model is called $model"
    echo "$model $(basename "$file" .rs)"
done >"$work/models"
: >"$work/programs"
if [ -s "$work/models" ]; then
    mapfile -t tests < <(cut -d' ' -f2 "$work/models" | sort -u | sed 's/^/--test=/')
    (cd "$copy" && cargo test -p sluicegate-loom-tests --profile loom --no-run "${tests[@]}") >"$work/build.log" 2>&1 ||
        { cat "$work/build.log"; die "the copy does not build"; }
    sed -n 's/^ *Executable tests\/\([a-z_0-9]*\)\.rs (\(.*\))$/\1 \2/p' "$work/build.log" >"$work/programs"
fi

# What was found for these sources, and for the models in these files; comments make no
# difference. The models have the references of the tests.
stamp=$(find "$copy/src" "$copy/crates/flow/src" "$copy/loom-tests/src" "$copy/tests/support/reference.rs" "$copy/tests/windows/reference.rs" \
    -name "*.rs" | sort | xargs cat | grep -v "^ *//" | cksum | tr " " -)
export found="$work/found/$stamp"
[ -z "$again" ] || rm -rf "$found"
mkdir -p "$found"

# Runs a model with so many preemptions, its own number if none are given, and tells what
# became of it: `passed`, `failed` or `stopped`.
run() {
    local model=$1 bound=$2 log=$3 program
    program=$(awk -v model="$model" 'NR == FNR { if ($1 == model) file = $2; next } $1 == file { print $2 }' \
        "$work/models" "$work/programs")
    # Of the processor, not of the clock on the wall.
    if (
        ulimit -t "${ORDERINGS_SECONDS:-600}"
        [ -z "$bound" ] || export LOOM_MAX_PREEMPTIONS=$bound
        exec "$program" --exact "$model"
    ) >"$log" 2>&1 && grep -q "^test result: ok. 1 passed" "$log"; then
        echo passed
    elif grep -q "^test result: FAILED. 0 passed; 1 failed" "$log"; then
        echo failed
    else
        echo stopped
    fi
}

# The same with nothing weakened, once. That a model fails says something only if it passes
# as it is.
control() {
    local model=$1 bound=$2 key log known result
    key=$(cksum <"loom-tests/tests/$(awk -v model="$model" '$1 == model { print $2 }' "$work/models").rs")
    known="$found/control-$model-${bound:-all}"
    case $(cat "$known" 2>/dev/null) in
        "$key"$'\n'*) tail -n 1 "$known" ;;
        *)
            log="$work/log-$model-$BASHPID"
            result=$(run "$model" "$bound" "$log")
            [ "$result" = stopped ] || { printf "%s\n" "$key" "$result" >"$log.known" && mv "$log.known" "$known"; }
            rm -f "$log"
            echo "$result"
            ;;
    esac
}

# `caught by MODEL`, or `survived`, `not reached`, `stopped MODEL` or `fails as it is: MODEL`
# and with how many preemptions, to a file of its own, and what the model said beside it.
weaken() {
    local number weaker place line models model key known bound bounds log result outcome=survived reached=0
    IFS=$'\t' read -r number weaker place line models <<<"$1"
    case $models in none)
        outcome="no model"
        models=
        reached=1
        ;;
    esac
    key="$models $(for model in $models; do
        awk -v model="$model" '$1 == model { print "loom-tests/tests/" $2 ".rs" }' "$work/models"
    done | xargs -r cat | cksum)"
    # A model that fails with few preemptions fails with more, and sooner.
    bounds=(1 "")
    [ -z "${LOOM_MAX_PREEMPTIONS:-}" ] || bounds=("$LOOM_MAX_PREEMPTIONS")
    case $(cat "$found/$number-$weaker" 2>/dev/null) in
        "$key"$'\n'caught* | "$key"*"with ${bounds[-1]:-all}") return ;;
        "$key"$'\n'"survived with ${bounds[0]}") bounds=("") reached=1 ;;
        # One that was stopped may be given more time.
        "$key"$'\n'*"with ${bounds[-1]:-all} in "*)
            known=$(sed -n '$s/.* in //p' "$found/$number-$weaker")
            [ "${known% s}" -lt "${ORDERINGS_SECONDS:-600}" ] || return 0
            ;;
    esac
    log="$found/log-$number-$weaker"
    for bound in "${bounds[@]}"; do
        for model in $models; do
            result=$(SLUICEGATE_WEAKENED="$number:$weaker" run "$model" "$bound" "$log")
            ! grep -q "^weakened: reached" "$log" || reached=1
            [ "$result" != failed ] || result="$result-$(control "$model" "$bound")"
            case $result in
                passed) ;;
                failed-passed) outcome="caught by $model"; break 2 ;;
                failed-failed) outcome="fails as it is: $model" ;;
                *) outcome="stopped $model" ;;
            esac
        done
    done
    [ "$reached" = 1 ] || outcome="not reached"
    case $outcome in
        caught*) ;;
        stopped*) outcome="$outcome with ${bounds[-1]:-all} in ${ORDERINGS_SECONDS:-600} s" ;;
        *) outcome="$outcome with ${bounds[-1]:-all}" ;;
    esac
    printf "%s\n" "$key" "$outcome" >"$found/$number-$weaker"
    printf '%s  %s (line %s, %s)\n' "$outcome" "$place" "$line" "$number:$weaker"
}
export -f run control
export -f weaken
sed -n '/^#/d; s/^\([^:]*\): .*/\1/p' "$listed" >"$work/listed"
cd "$copy"
# Those first that must be caught.
awk -F'\t' 'NR == FNR { listed[$0]; next } { print ($3 in listed) "\t" $0 }' "$work/listed" "$work/tries" |
    sort -s -n -k1,1 | cut -f2- |
    xargs -d'\n' -P "${ORDERINGS_JOBS:-$(nproc)}" -I{} bash -c 'weaken "$1"' - {}
cd - >/dev/null

# Against the list: `PLACE: reason`, and a place for each that survived.
bad=0
say() { echo "orderings: $*"; bad=1; }
total=0 caught=0 argued=0 stopped=0
places="$work/places"
cut -f3 "$work/tries" >"$places"
while IFS=$'\t' read -r number weaker place line _; do
    total=$((total + 1))
    outcome=$(tail -n 1 "$found/$number-$weaker")
    is_listed=0
    ! grep -qxF "$place" "$work/listed" || is_listed=1
    case $outcome-$is_listed in
        caught*-0) caught=$((caught + 1)) ;;
        caught*-1) say "listed, but ${outcome}: $place" ;;
        fails*) say "$outcome: $place (line $line)" ;;
        stopped*-1) argued=$((argued + 1)) stopped=$((stopped + 1)) ;;
        *-1) argued=$((argued + 1)) ;;
        *) say "$outcome: $place (line $line)" ;;
    esac
done <"$work/tries"
if [ -z "$filter" ]; then
    while read -r place; do
        grep -qxF "$place" "$places" || say "listed, but not in the sources: $place"
    done <"$work/listed"
fi
echo "$total weaker orderings: $caught caught by the model at their place, $argued argued in $listed (of which $stopped by models that were stopped)"
exit "$bad"
