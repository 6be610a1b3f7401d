#!/usr/bin/env bash
# Measures `sluicegate replay` on logs of 5 million lines in each format, beside goaccess on the same
# lines, in alternation, and writes docs/benchmarks/replay.csv.
#
#   benches/replay.sh [rounds]      5 rounds if left out; each takes 45 s of processor time
#
# Takes 3.3 GB of disk and, for goaccess and valgrind, apt-get install goaccess valgrind. The times of a
# process are the system's own. Instructions are counted by callgrind, as the difference between logs of
# 200,000 and 100,000 lines, so that what a start costs is not in them.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-5}
lines=5000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build -q --release -p sluicegate-cli --bin sluicegate --example long_log
replay=$PWD/target/release/sluicegate
for format in combined json csv w3c; do
    target/release/examples/long_log --lines "$lines" --format "$format" >"$work/$format.log"
    target/release/examples/long_log --lines 200000 --format "$format" >"$work/$format.200000"
    target/release/examples/long_log --lines 100000 --format "$format" >"$work/$format.100000"
done
cat >"$work/policy.toml" <<'POLICY'
[limiters.per-address]
policy = "token_bucket"
limit = 100
rate = { amount = 10, interval = "1 second" }
POLICY

names=(combined nginx json csv w3c)
nginx='$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
# The command that reads a log in a format. A pattern of nginx reads the log in combined format.
replay() {
    local format=$1 log=$2
    [ "$format" != nginx ] || { format=$nginx log=${log/nginx/combined}; }
    "${prefix[@]}" "$replay" replay --policy "$work/policy.toml" --brief --format "$format" "$log"
}
prefix=()
goaccess_report() {
    goaccess "$work/combined.log" --log-format=COMBINED --no-progress -o "$work/goaccess.json"
}

TIMEFORMAT='%U %S %R'
for ((round = 1; round <= rounds; round++)); do
    for name in "${names[@]}"; do
        { time replay "$name" "$work/$name.log" >"$work/$name.report" 2>&1; } 2>>"$work/$name.times"
        grep -q '5,000,000 judged, 0 skipped' "$work/$name.report" || { cat "$work/$name.report"; exit 1; }
    done
    { time goaccess_report >/dev/null 2>&1; } 2>>"$work/goaccess.times"
done

instructions() {
    prefix=(valgrind --tool=callgrind --callgrind-out-file=/dev/null)
    local many few
    many=$(replay "$1" "$work/$1.200000" 2>&1 | sed -n 's/.*Collected : //p')
    few=$(replay "$1" "$work/$1.100000" 2>&1 | sed -n 's/.*Collected : //p')
    prefix=()
    echo $(((many - few) / 100000))
}
# Least, median and most of a column, to two decimals.
spread() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f - %.2f - %.2f", v[1], v[int((NR + 1) / 2)], v[NR] }'; }

{
    echo "command,bytes a line,user s,wall s,million lines a second and core,instructions a line"
    for name in "${names[@]}" goaccess; do
        log=$work/$name.log count=-
        case $name in
            goaccess) log=$work/combined.log what="goaccess, combined" ;;
            nginx) log=$work/combined.log what="replay, pattern of nginx" ;;
            *) what="replay, $name" ;;
        esac
        [ "$name" = goaccess ] || count=$(instructions "$name")
        bytes=$(($(stat -c %s "$log") / lines))
        user=$(awk '{ print $1 }' "$work/$name.times" | spread)
        wall=$(awk '{ print $3 }' "$work/$name.times" | spread)
        rate=$(awk -v lines="$lines" '{ print lines / 1e6 / ($1 + $2) }' "$work/$name.times" | spread)
        echo "\"$what\",$bytes,$user,$wall,$rate,$count"
    done
} >"$work/replay.csv"
mv "$work/replay.csv" docs/benchmarks/replay.csv
