#!/usr/bin/env bash
# No link is dead: not in the Markdown files, as they are read in the repository, and not on the
# front page and the pages of `docs/`, as they are read in the documentation.
#
#   ci/links.sh DIRECTORY     where `cargo doc` has put the documentation
set -euo pipefail
cd "$(dirname "$0")/.."

documentation=${1:?usage: ci/links.sh DIRECTORY}
dead=0
# Reads lines `FILE TARGET`; a target is relative to its file.
check() {
    local file target
    while read -r file target; do
        [[ $file = */* ]] || file=./$file
        [ -e "${file%/*}/${target%%#*}" ] || { echo "links: $file: $target" >&2; dead=1; }
    done
}

# Links with a target in place, and the definitions of names.
markdown() {
    { grep -oHE '\]\([^)# ]+' "$@" || true; } | sed 's/:\](/ /'
    { grep -HE '^\[[^]]+\]: ' "$@" || true; } | sed -E 's/:\[[^]]+\]: / /'
}
check < <(markdown README.md CHANGELOG.md CONTRIBUTING.md docs/*.md | grep -vE ' https?://')

# A path in code style, such as `src/sync.rs`.
check < <(grep -ohE '`[a-z_.-]+/[a-zA-Z0-9_./-]*`' CONTRIBUTING.md | tr -d '`' | sed 's/^/CONTRIBUTING.md /')

pages=$(find "$documentation/sluicegate/index.html" "$documentation/sluicegate/docs" -name '*.html')
check < <(grep -oHE '<a [^>]*href="[^"#]+' $pages | sed 's/:<a .*href="/ /' | grep -vE ' https?://' | sort -u)

# A name without a definition stays in its brackets.
if grep -nE '\]\[[a-z_-]+\]' $pages; then
    echo "links: a name that no definition stands for" >&2
    dead=1
fi

exit "$dead"
