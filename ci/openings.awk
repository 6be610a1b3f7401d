# Prints each comment of documentation that opens with a word such as What, Who or Of. Fails if there is one.
FNR == 1 { was_doc = 0 }
{
    is_doc = $0 ~ /^[ \t]*\/\/[\/!]/
    if (is_doc && !was_doc) {
        opening = $0
        sub(/^[ \t]*\/\/[\/!] ?/, "", opening)
        if (opening ~ /^(What|Who|Whoever|Whose|Of|Whether|How|As|Where|Which) /) {
            bad++
            print FILENAME ":" FNR ": " opening
        }
    }
    was_doc = is_doc
}
END { exit bad > 0 }
