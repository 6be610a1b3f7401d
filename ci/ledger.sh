#!/usr/bin/env bash
# Prints a line for each mutant: its name, and hashes of what its being caught depends on.
#
#   NAME PATCH SOURCES MODELS
#
# The sources are those of every module that the patch changes, and `src/sync.rs`. A module is
# a file in `src` with its folder, such as `src/sharded.rs` and `src/sharded/`; in the folders
# `keyed`, `window` and `time` it is a part of them, such as `src/keyed/table.rs` and
# `src/keyed/table/`. A file of another crate is a module of its own. The models are the files of
# `loom-tests/tests` with those that are to catch it, `loom-tests/src` with the references that it
# shares with the tests, and the version of loom. Lines that are comments do not count, nor do unit
# tests, which are at the end of a file or in one of their own.
#
# That is not all: a model may run code of other modules too, and a change there could let
# the mutant escape. `ci/loom.sh --all`, each night, is for that.
#
# Fails if a patch does not apply any more, or names a model that is not there.
#
#   ci/ledger.sh models
#
# prints a line for each file of models instead: its name, and a hash of what they run, which
# is the whole engine but for the pages of its documentation, and the files of other crates that
# it includes.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

die() { echo "ledger: $*" >&2; exit 1; }

# The module of a file in `src`.
module_of() {
    local folder=${1%%/*} rest=${1#*/}
    case $1 in
        crates/*) echo "$1"; return ;;
        keyed/* | window/* | time/*) folder+=/${rest%%/*} ;;
    esac
    echo "${folder%.rs}"
}

declare -A hashes patch_hash sources_of file_of
# The hash of all these files together, in `hash`.
hash_of() {
    hash=${hashes["$*"]:-}
    [ -z "$hash" ] || return 0
    hash=$(awk 'FNR == 1 { in_tests = 0 }
        /^#\[cfg\((all\()?test/ { in_tests = 1 }
        !in_tests && !/^ *\/\//' "$@" | sha256sum)
    hash=${hash:0:16}
    hashes["$*"]=$hash
}

loom=$(mktemp) lines=$(mktemp)
trap 'rm -f "$loom" "$lines"' EXIT
{ grep -A 1 '^name = "loom"' Cargo.lock; sed -n '/^\[profile.loom\]/,/^$/p' Cargo.toml; } >"$loom"
oracles=(loom-tests/src/*.rs tests/support/reference.rs tests/windows/reference.rs "$loom")

# The files of other crates that these models include.
included_by() {
    sed -n 's:^#\[path = "\.\./\.\./\(crates/.*\)"\]$:\1:p' "$@" | sort -u
}

if [ "${1:-}" = models ]; then
    readarray -t engine < <(find src -name '*.rs' ! -name tests.rs ! -path src/docs.rs | sort)
    for file in loom-tests/tests/*.rs; do
        # Split into words: names of our files have no blanks.
        hash_of "${engine[@]}" "${oracles[@]}" "$file" $(included_by "$file")
        echo "$(basename "$file" .rs) $hash"
    done
    exit
fi

for patch in loom-tests/mutants/*.patch; do
    [ "$(grep -cE '^# caught-by: [a-z]' "$patch")" = 1 ] && [ "$(grep -c '^# caught-by:' "$patch")" = 1 ] ||
        die "$patch has to have one line '# caught-by: MODEL'"
done
stale=()
for patch in loom-tests/mutants/*.patch; do
    patch -s -f -F0 -p1 --dry-run <"$patch" >/dev/null || stale+=("$patch")
done
[ ${#stale[@]} -eq 0 ] || die "no longer apply: ${stale[*]}"

while read -r hash patch; do
    patch_hash[$patch]=${hash:0:16}
done < <(sha256sum loom-tests/mutants/*.patch)
while read -r file; do
    module=$(module_of "${file#src/}")
    sources_of[$module]+="$file "
done < <(find src -name '*.rs' ! -name tests.rs | sort)
while read -r file; do
    sources_of[$file]="$file "
done < <(included_by loom-tests/tests/*.rs)
while IFS=: read -r file model; do
    model=${model#fn }
    file_of[${model%()}]=$file
done < <(grep -o 'fn [a-z0-9_]*()' loom-tests/tests/*.rs)

# Each patch with the modules that it changes, and the models that are to catch it.
while read -r patch files catchers; do
    name=${patch##*/} seen="" sources=(src/sync.rs) models=("${oracles[@]}")
    for file in ${files//,/ }; do
        module=$(module_of "$file")
        [[ " $seen " != *" $module "* ]] || continue
        seen+=" $module"
        [ -n "${sources_of[$module]:-}" ] || die "$name changes $module, and there is no such module"
        # Split into words: names of our files have no blanks.
        sources+=(${sources_of[$module]})
    done
    for model in ${catchers//,/ }; do
        file=${file_of[$model]:-}
        [ -n "$file" ] || die "$name is to be caught by $model, and there is no such model"
        [[ " ${models[*]} " == *" $file "* ]] || models+=("$file")
    done
    hash_of "${sources[@]}"
    line="${name%.patch} ${patch_hash[$patch]} $hash"
    hash_of "${models[@]}"
    echo "$line $hash"
done < <(awk '
    function done() { if (patch) print patch, files ? files : "none", catchers ? catchers : "none" }
    FNR == 1 { done(); patch = FILENAME; files = catchers = "" }
    sub(/^# caught-by: */, "") { gsub(/ /, ""); catchers = $0 }
    /^\+\+\+ b\/(src|crates)\// {
        sub(/^\+\+\+ b\/(src\/)?/, "")
        files = files ? files "," $0 : $0
    }
    END { done() }
' loom-tests/mutants/*.patch) | sort >"$lines"
# Without one of them, a mutant would not be missed.
[ "$(wc -l <"$lines")" = "${#patch_hash[@]}" ] || die "$(wc -l <"$lines") lines for ${#patch_hash[@]} patches"
cat "$lines"
