# Prints the atomic operations of source files as rows of tables, a table for each file: the
# function, the operations of a statement with their orderings, and the comment's ORDERING and
# MODEL (see argued.awk).
function cell(text) {
    gsub(/[ \t]+/, " ", text)
    gsub(/^ | $/, "", text)
    gsub(/[|]/, "\\|", text)
    return text
}
function flush(    row) {
    if (operations == "") return
    if (file != FILENAME) {
        file = FILENAME
        name = file
        sub(/^src\//, "", name)
        printf "\n### `%s`\n\n| function | operation | why so | model |\n|---|---|---|---|\n", name
    }
    printf "| `%s` | %s | %s | %s |\n", fn, operations, cell(why), cell(model)
    operations = ""
}
FNR == 1 { fn = why = model = operations = part = all = ""; in_use = 0 }
/^#\[cfg\((all\()?test/ { nextfile }
/^[ \t]*\/\// {
    text = $0
    sub(/^[ \t]*\/\/[\/!]? ?/, "", text)
    if (text ~ /ORDERING:/) { why = ""; part = "why"; sub(/.*ORDERING: /, "", text) }
    if (text ~ /MODEL:/) { model = ""; part = "model"; sub(/.*MODEL: /, "", text) }
    if (part == "why") why = why " " text
    if (part == "model") model = model " " text
    next
}
{ part = "" }
/^[ \t]*(pub(\(crate\))? )?use / { in_use = 1 }
in_use { if (/;[ \t]*$/) in_use = 0; next }
{
    rest = $0
    while (match(rest, /(^|[^A-Za-z_])fence\(|[.](load|store|swap|fetch_[a-z]+|compare_exchange(_weak)?)\(|fn [a-z_0-9]+|(^|[^A-Za-z_])(Relaxed|Acquire|Release|AcqRel|SeqCst)([^A-Za-z_]|$)/)) {
        word = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (word ~ /^fn /) {
            fn = substr(word, 4)
        } else if (word ~ /\($/) {
            gsub(/[^a-z_]/, "", word)
            sub(/^compare_exchange(_weak)?/, "CAS", word)
            operation = word
        } else {
            gsub(/[^A-Za-z]/, "", word)
            if (operation == "") operations = operations " / " word
            else operations = operations (operations == "" ? "" : ", ") operation " " word
            operation = ""
        }
    }
}
/[;{}][ \t]*$/ { flush() }
