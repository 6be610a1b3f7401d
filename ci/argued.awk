# Every statement with an ordering has an ORDERING and a MODEL line in the
# comment right above it, or in one above the `impl` that says "throughout".
/^[ \t]*\/\// {
    if (/ORDERING:/) ordering = 1
    if (/MODEL:/) model = 1
    if (/ORDERING: .*throughout/) throughout = 1
    next
}
/(^|[^A-Za-z_])(Relaxed|Acquire|Release|AcqRel|SeqCst)([^A-Za-z_]|$)/ && !in_use && !/^[ \t]*(pub(\(crate\))? )?use / {
    if (!throughout && !(ordering && model)) {
        print FILENAME ":" FNR ": not argued: " $0
        bad = 1
    }
}
# A list of imports may take several lines.
/^[ \t]*(pub(\(crate\))? )?use / { in_use = 1 }
in_use && /;[ \t]*$/ { in_use = 0 }
/[;{}][ \t]*$/ { ordering = 0; model = 0 }
END { exit bad }
