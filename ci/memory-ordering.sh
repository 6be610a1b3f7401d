#!/usr/bin/env bash
# Writes the tables of docs/memory-ordering.md, from the ORDERING and MODEL comments in src/.
#
#   ci/memory-ordering.sh            writes them
#   ci/memory-ordering.sh --check    fails if they are not those of the sources
set -euo pipefail
cd "$(dirname "$0")/.."

[[ ${1:-} =~ ^(--check)?$ ]] && [ $# -le 1 ] || { echo "usage: ci/memory-ordering.sh [--check]" >&2; exit 2; }

page=docs/memory-ordering.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT
heading='## Every operation'

sed "/^$heading/q" "$page" >"$new"
grep -q "^$heading" "$new" || { echo "memory-ordering: $page has no heading '$heading'" >&2; exit 1; }
git ls-files -co --exclude-standard 'src/*.rs' | LC_ALL=C sort | while read -r file; do
    [ ! -f "$file" ] || awk -f ci/memory-ordering.awk "$file"
done >>"$new"

if [ "${1:-}" = --check ]; then
    diff "$page" "$new" || { echo "memory-ordering: $page is not that of the sources; run ci/memory-ordering.sh" >&2; exit 1; }
else
    cp "$new" "$page"
fi
