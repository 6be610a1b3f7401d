#!/usr/bin/env bash
# No link of a Markdown file is dead: its file is there, its heading too, and its name has a definition.
set -euo pipefail
cd "$(dirname "$0")/.."

pages=(README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md crates/*/README.md)
dead=0
fail() { echo "links: $*" >&2; dead=1; }

# The anchors of a page's headings.
anchors() {
    sed -nE '/^```/,/^```/d; s/^#+ //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}

# Links with a target in place, and the definitions of names: lines `FILE TARGET`.
links() {
    { grep -oHE '\]\([^) ]+' "$@" || true; } | sed 's/:\](/ /'
    { grep -HE '^\[[^]]+\]: ' "$@" || true; } | sed -E 's/:\[[^]]+\]: / /'
}
while read -r file target; do
    path=${target%%#*} anchor=""
    [[ $target != *'#'* ]] || anchor=${target#*#}
    [[ $file = */* ]] || file=./$file
    page=$file
    [ -z "$path" ] || page=${file%/*}/$path
    [ -e "$page" ] || { fail "$file: $target"; continue; }
    [[ -z $anchor || $page != *.md ]] || anchors "$page" | grep -qxFe "$anchor" || fail "$file: no heading for $target"
done < <(links "${pages[@]}" | grep -vE ' https?://')

# A path in code style, such as `src/sync.rs`.
while read -r path; do
    [ -e "$path" ] || fail "CONTRIBUTING.md: $path"
done < <(grep -ohE '`[a-z_.-]+/[a-zA-Z0-9_./-]*`' CONTRIBUTING.md | tr -d '`')

# A name without a definition stays in its brackets.
for page in "${pages[@]}"; do
    names=$(comm -23 <(grep -oE '\]\[[a-z_-]+\]' "$page" | tr -d '[]' | sort -u) \
        <(grep -oE '^\[[^]]+\]: ' "$page" | tr -d '[]: ' | sort -u))
    [ -z "$names" ] || fail "$page: no definition of" $names
done

exit "$dead"
