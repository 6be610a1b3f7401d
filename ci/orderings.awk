# Rewrites a source file so that each ordering in it can be weakened when the models run,
# and writes to `sites` what there is, one line each, with tabs between:
#
#   number  file  function  operation  ordering  line  models
#
# Of several operations of one kind in a function, the second is `load#2`. The models
# are those of the MODEL line right above (see lint.awk). `file` is the name to tell,
# `first` the number of the first.
function site(order,    name) {
    name = operation
    if (seen[fn, operation] > 1) name = name "#" seen[fn, operation]
    if (place == 2) name = name "-failure"
    number++
    printf "%d\t%s\t%s\t%s\t%s\t%d\t%s\n", number, file, fn, name, order, FNR, models > sites
    return number
}

# The line, with a call around each ordering; a fence is another function's.
function rewritten(line,    out, word, at) {
    out = ""
    while (match(line, /fence\(|[.](load|store|swap|fetch_[a-z]+|compare_exchange(_weak)?)\(|fn [a-z_0-9]+|[A-Za-z_0-9]+/)) {
        word = substr(line, RSTART, RLENGTH)
        out = out substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + RLENGTH)
        if (word ~ /^fn /) {
            fn = substr(word, 4)
        } else if (word ~ /\($/) {
            operation = word
            gsub(/[.(]/, "", operation)
            sub(/^compare_exchange(_weak)?/, "cas", operation)
            seen[fn, operation]++
            place = 0
            if (operation == "fence") word = "crate::sync::weakened_fence("
        } else if (word ~ /^(Relaxed|Acquire|Release|AcqRel|SeqCst)$/) {
            place++
            if (word != "Relaxed") {
                at = site(word)
                word = operation == "fence" ? at ", " word : "crate::sync::weakened(" at ", " word ")"
            }
        }
        out = out word
    }
    return out line
}

BEGIN { number = first - 1; printf "" > sites }

/^[ \t]*\/\// {
    print
    if (/ORDERING:/) { models = ""; in_models = 0 }
    if (/MODEL:/) { models = ""; in_models = 1 }
    if (/MODEL: none/) { models = "none"; in_models = 0 }
    rest = $0
    while (in_models && match(rest, /`[a-z_0-9]+`/)) {
        models = models (models == "" ? "" : " ") substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
    }
    next
}
/^[ \t]*(pub(\(crate\))? )?use / { in_use = 1 }
{ print in_use ? $0 : rewritten($0); in_models = 0 }
in_use && /;[ \t]*$/ { in_use = 0; next }
!in_use && /[;{}][ \t]*$/ { models = "" }
