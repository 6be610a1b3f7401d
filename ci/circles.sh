#!/usr/bin/env bash
# Fails if modules of a crate import each other in a circle, file by file or folder by folder.
#
# An import is a `use` of a path in the crate, outside unit tests. A name that is imported from the root of the
# crate is passed over. Others are imported from the module that owns them, so the longest part of the path that
# is a file is the module. A module and a part of it in its folder are one: the part adds verbs to what the module
# defines.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints the imports of the modules in a folder.
imports() {
    find "$1" -name '*.rs' ! -name tests.rs | LC_ALL=C sort | awk -v root="$1/" '
    # The module of a path, as the longest part of it that is one.
    function module(path) {
        while (path != "" && !(path in is_module)) if (!sub(/::[^:]*$/, "", path)) path = ""
        return path
    }
    function parent(path) { return sub(/::[^:]*$/, "", path) ? path : "" }
    function is_part(path, whole) { return path == whole || index(path, whole "::") == 1 }
    function import(path) {
        if (path ~ /^crate::/) sub(/^crate::/, "", path)
        else if (path ~ /^self::/) sub(/^self/, own, path)
        else if (path ~ /^super::/) {
            sub(/^super/, parent(own), path)
            sub(/^::/, "", path)
        } else return
        path = module(path)
        if (path != "" && !is_part(path, own) && !is_part(own, path)) print own, path
    }
    {
        name[NR] = $0
        path = $0
        path = substr(path, length(root) + 1); sub(/\.rs$/, "", path); gsub(/\//, "::", path)
        of[NR] = path
        is_module[path] = 1
    }
    END {
        for (i = 1; i <= NR; i++) {
            own = of[i]
            if (own == "lib") continue
            while ((getline line < name[i]) > 0) {
                if (line ~ /^#\[cfg\((all\()?test/) break
                if (line !~ /^ *(pub(\([^)]*\))? )?use /) continue
                while (line !~ /;/ && (getline more < name[i]) > 0) line = line more
                sub(/^ *(pub(\([^)]*\))? )?use /, "", line)
                if (line ~ /\{/) {
                    # One level of braces: the rest is a name, or a path below the head.
                    head = line; sub(/\{.*/, "", head)
                    names = line; sub(/^[^{]*\{/, "", names); sub(/\}.*/, "", names)
                    count = split(names, each, /, */)
                    for (j = 1; j <= count; j++) import(head each[j])
                } else {
                    sub(/( as .*)?;.*/, "", line)
                    import(line)
                }
            }
            close(name[i])
        }
    }'
}

failed=0
for root in src crates/*/src; do
    imports=$(imports "$root")
    # tsort names what is in a circle.
    tsort <<<"$imports" >/dev/null || { echo "circles: modules of $root import each other, see above" >&2; failed=1; }
    folders=$(sed -E 's/::[^ ]*//g' <<<"$imports" | awk '$1 != $2' | sort -u)
    tsort <<<"$folders" >/dev/null || { echo "circles: folders of $root import each other, see above" >&2; failed=1; }
    [ "$root" != src ] || [ -n "$folders" ] || { echo "circles: found no imports in $root" >&2; failed=1; }
done
exit "$failed"
