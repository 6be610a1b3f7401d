# Counts pronouns that dangle in a page of Markdown, or in the documentation of a module (lines of `//!`): "those", "what",
# "the same", "that of". Prints the page, its words, and how many of these there are in a thousand words. Code, links'
# targets and pictures do not count.
#
#   awk -f ci/prose.awk PAGE...
function report() {
    if (page == "") return
    gsub(/`[^`]*`/, " code ", text)
    gsub(/\]\[[^]]*\]|\]\([^)]*\)/, "] ", text)
    gsub(/<!--[^>]*-->/, " ", text)
    words = gsub(/[A-Za-z0-9][A-Za-z0-9'.-]*/, "&", text)
    text = " " tolower(text) " "
    gsub(/[^a-z]+/, "  ", text)
    found = gsub(/ those /, "&", text) + gsub(/ what /, "&", text) + gsub(/ the  same /, "&", text) + gsub(/ that  of /, "&", text)
    printf "%-36s %6d %6.1f\n", page, words, words ? found * 1000 / words : 0
}
FNR == 1 { report(); page = FILENAME; text = ""; code = 0 }
FILENAME ~ /\.rs$/ && !sub(/^\/\/! ?/, "") { next }
/^ *```/ { code = !code; next }
code || /^\[[^]]*\]: / { next }
{ text = text " " $0 }
END { report() }
