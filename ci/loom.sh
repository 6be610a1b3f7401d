#!/usr/bin/env bash
# The loom models, their canary and refused designs, and the mutants of the real
# code, each of which a model must catch.
#
#   ci/loom.sh          models with the bounds they were given, then the mutants
#   ci/loom.sh --deep   models without a bound on preemptions: hours, by hand
#
# LOOM_MAX_PREEMPTIONS=n overrides the bounds of all models.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base

# A cfg of our own, so that another crate's `--cfg loom` does not switch this one
# and ours does not switch others.
export RUSTFLAGS="--cfg sluicegate_loom ${RUSTFLAGS:-}"
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}/loom-models" && cd "${CARGO_TARGET_DIR:-target}/loom-models" && pwd)"
export CARGO_TARGET_DIR="$target"
models=(cargo test -q -p sluicegate-loom-tests --profile loom)

if [ "${1:-}" = --deep ]; then
    LOOM_UNBOUNDED=1 "${models[@]}" -- --nocapture
    exit
fi

log="$target/models.log"
started=$SECONDS
if ! "${models[@]}" >"$log" 2>&1; then
    cat "$log"
    echo "loom: a model fails"
    exit 1
fi
count() { cargo test -q -p sluicegate-loom-tests --profile loom "$@" -- --list 2>/dev/null | grep -c ': test$'; }
all=$(count)
canaries=$(count canary_)
refused=$(($(count --test refused) - canaries))
echo "models: $((all - canaries - refused)) passed, $canaries canary and $refused refused designs caught ($((SECONDS - started)) s)"

# A mutant is a patch of `src/`. It is built and run in a copy of the sources, so
# that the tree is never touched, and in a target folder of its own: cargo takes
# two workspaces with the same files for one, and would run a mutant as the model.
copy="$target/mutant"
export CARGO_TARGET_DIR="$target/mutants"
caught=0
total=0
printf '\n%-26s %5s  %s\n' mutant s "caught by"
for patch in loom-tests/mutants/*.patch; do
    name=$(basename "$patch" .patch)
    IFS=', ' read -r -a catchers <<<"$(sed -n 's/^# caught-by: //p' "$patch")"
    total=$((total + 1))
    began=$SECONDS
    rm -rf "$copy"
    mkdir -p "$copy"
    tar -cf - --exclude=./target --exclude=./.git . | tar -xmf - -C "$copy"
    patch -s -p1 -d "$copy" <"$patch" || { echo "loom: $name does not apply"; exit 1; }
    # Only the files with the models that are to catch it.
    files=()
    for model in "${catchers[@]}"; do
        file=$(grep -l "fn $model()" loom-tests/tests/*.rs) || { echo "loom: $name: no model $model"; exit 1; }
        files+=(--test "$(basename "$file" .rs)")
    done
    # A mutant that does not build is not caught, it is broken.
    (cd "$copy" && "${models[@]}" "${files[@]}" --no-run) >"$log" 2>&1 || { cat "$log"; echo "loom: $name does not build"; exit 1; }
    by=()
    for model in "${catchers[@]}"; do
        # A model that a mutant makes endless is stopped; that does not count.
        if (cd "$copy" && timeout 120 "${models[@]}" "${files[@]}" -- --exact "$model") >"$log" 2>&1; then
            :
        elif grep -q "^test result: FAILED\|panicked at" "$log"; then
            by+=("$model")
        fi
    done
    if [ ${#by[@]} -eq ${#catchers[@]} ]; then
        caught=$((caught + 1))
        printf '%-26s %5d  %s\n' "$name" "$((SECONDS - began))" "${by[*]}"
    else
        printf '%-26s %5d  %s\n' "$name" "$((SECONDS - began))" "ESCAPED: ${catchers[*]} pass"
    fi
done
rm -rf "$copy"

echo
echo "models: $((all - canaries - refused)) passed, canaries: $canaries caught, refused designs: $refused caught, mutants: $caught of $total caught"
[ "$caught" -eq "$total" ] || exit 1
echo "$((all + caught)) passed, 0 failed"
