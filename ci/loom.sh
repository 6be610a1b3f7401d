#!/usr/bin/env bash
# The loom models, their canary and refused designs, and the mutants of the real
# code, each of which a model must catch.
#
#   ci/loom.sh              models with the bounds they set, then the mutants
#   ci/loom.sh --deep       models only, with one preemption more than they set
#   ci/loom.sh --unbounded  models only, with any number: days, by hand
#
# LOOM_MAX_PREEMPTIONS=n takes the place of all bounds, in the models and the
# mutants alike. The number of executions of each model is in models.log, in the
# target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

# A cfg of our own, so that another crate's `--cfg loom` does not switch this one
# and ours does not switch others.
export RUSTFLAGS="--cfg sluicegate_loom ${RUSTFLAGS:-}"
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}/loom-models" && cd "${CARGO_TARGET_DIR:-target}/loom-models" && pwd)"
export CARGO_TARGET_DIR="$target"
models=(cargo test -q -p sluicegate-loom-tests --profile loom)
log="$target/models.log"

case "${1:-}" in
    "") ;;
    --deep) export LOOM_DEEPER=1 ;;
    --unbounded) export LOOM_UNBOUNDED=1 ;;
    *) echo "usage: ci/loom.sh [--deep | --unbounded]" >&2; exit 2 ;;
esac

started=$SECONDS
if ! "${models[@]}" --no-fail-fast -- --nocapture >"$log" 2>&1; then
    cat "$log"
    echo "loom: a model fails"
    exit 1
fi
count() { "${models[@]}" "$@" -- --list 2>/dev/null | grep -c ': test$'; }
canaries=$(count canary_)
# The designs, and a control that the same models let pass.
refused=$(count --test refused exceed)
names=$(count --test names)
passed=$(($(count) - canaries - refused - names))
summary="models: $passed passed, canaries: $canaries caught, refused designs: $refused caught"
[ "$canaries" -gt 0 ] && [ "$refused" -gt 0 ] || { echo "loom: no canary was run"; exit 1; }
echo "$summary ($((SECONDS - started)) s)"
[ -z "${1:-}" ] || exit 0

# A mutant is a patch of `src/`. It is built and run in a copy of the sources, so
# that the tree is never touched, and in a target folder of its own: cargo takes
# two workspaces with the same files for one, and would run a mutant as the model.
# As many at once as there are processors, each in a copy and a folder of theirs.
mutant() {
    local patch=$1 name copy log catchers began=$SECONDS model file files=() missed=()
    name=$(basename "$patch" .patch)
    copy="$work/mutant-$slot"
    log="$work/mutant-$slot.log"
    export CARGO_TARGET_DIR="$work/mutants-$slot" CARGO_INCREMENTAL=1
    IFS=', ' read -r -a catchers <<<"$(sed -n 's/^# caught-by: //p' "$patch")"
    [ ${#catchers[@]} -gt 0 ] || { echo "loom: $name does not say what catches it"; return; }
    rm -rf "$copy"
    mkdir -p "$copy"
    # With new times, or cargo would take the last mutant's build for this one's.
    tar -cf - --exclude=./target --exclude=./.git --exclude=./fuzz . | tar -xmf - -C "$copy"
    patch -s -f -F0 -p1 -d "$copy" <"$patch" || { echo "loom: $name does not apply"; return; }
    # Only the files with the models that are to catch it.
    for model in "${catchers[@]}"; do
        file=$(grep -l "fn $model()" loom-tests/tests/*.rs) || { echo "loom: $name: no model $model"; return; }
        files+=(--test "$(basename "$file" .rs)")
    done
    # A mutant that does not build is not caught, it is broken.
    (cd "$copy" && "${models[@]}" "${files[@]}" --no-run) >"$log" 2>&1 || { cat "$log"; echo "loom: $name does not build"; return; }
    for model in "${catchers[@]}"; do
        # A model that a mutant makes endless is stopped; that does not count.
        if (cd "$copy" && timeout 120 "${models[@]}" --no-fail-fast "${files[@]}" -- --exact "$model") >"$log" 2>&1 ||
            ! grep -q '^test result: FAILED. 0 passed; 1 failed' "$log"; then
            missed+=("$model")
            cp "$log" "$work/escaped-$name.log"
        fi
    done
    if [ ${#missed[@]} -eq 0 ]; then
        printf '%-36s %5d  %s\n' "$name" "$((SECONDS - began))" "${catchers[*]}"
        touch "$work/caught/$name"
    else
        printf '%-36s %5d  %s\n' "$name" "$((SECONDS - began))" "ESCAPED ${missed[*]}"
    fi
}

export work="$target"
export -f mutant
rm -rf "$work/caught" "$work"/escaped-*
mkdir -p "$work/caught"
patches=(loom-tests/mutants/*.patch)
printf '\n%-36s %5s  %s\n' mutant s "caught by"
printf '%s\n' "${patches[@]}" | xargs -P "$(nproc)" --process-slot-var=slot -I{} \
    bash -c 'models=(cargo test -q -p sluicegate-loom-tests --profile loom); mutant {}'
total=${#patches[@]}
caught=$(find "$work/caught" -type f | wc -l)
rm -rf "$work"/mutant-*

echo
echo "$summary, mutants: $caught of $total caught"
[ "$total" -gt 0 ] && [ "$caught" -eq "$total" ] || { echo "loom: a mutant escaped"; exit 1; }
echo "$((passed + canaries + refused + names + total)) passed, 0 failed"
