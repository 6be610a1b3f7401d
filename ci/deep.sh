#!/usr/bin/env bash
# All checks that ci/test.sh has no time for, before a release: hours.
#
#   ci/deep.sh             all of them, one after the other
#   ci/deep.sh STAGE...    these
#   ci/deep.sh list        what they are, and about how many minutes of two processors each takes
#
# A stage that fails does not keep the others from running. At the end: what each took, and which failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# NAME MINUTES COMMAND: what it checks
stages() {
    cat <<'STAGES'
tests      20  ci/all_tests.sh: all packages, with what ci/test.sh leaves out (proxies, faults of Redis, the playground in a browser, benches) and all random cases
features    5  ci/features.sh: every set of features, and the targets without std
literals    1  ci/literals.sh: literals that are out of range fail in cargo check
msrv        8  ci/msrv.sh: everything on the minimum supported Rust
loom       50  ci/loom.sh --all: all models and all mutants in full
orderings  60  ci/orderings.sh: each ordering weakened
models     16  ci/models.sh: step models with all their configurations
shuttle     6  ci/shuttle.sh 30000: crowds of callers under a seeded scheduler
miri       12  ci/miri.sh: undefined behaviour and weak memory
tsan       25  ci/tsan.sh: data races
per-cpu     3  env PER_CPU_SPENDS=1000000000 cargo test -q --release -p sluicegate --lib --features per-cpu stress: every token of shards of CPUs
storm       5  ci/storm.sh: a million steps of each storm
leases     15  ci/leases.sh: leases in a simulated network, and mutants of them
servers    15  ci/servers.sh: limits on Redis 6.2, Valkey 8.1 and 9.1
policies    3  ci/random_policies.sh: random policies against the slow reference
openapi     3  ci/openapi.sh: the description of the service, and answers to all that it describes
fuzz       20  ci/fuzz.sh: every target for a minute
soak       12  ci/soak.sh: a service that is asked for ten minutes
prometheus  3  ci/prometheus.sh: the dashboard on a real Prometheus
musl        6  ci/musl.sh: the command as one static file
mutants   300  ci/mutants.sh: cargo-mutants over the modules that only compute
STAGES
}

if [ "${1:-}" = list ]; then
    stages | sed -E 's/^([^ ]+ +[0-9]+)  /\1 min  /'
    exit
fi
for name; do
    stages | grep -q "^$name " || { echo "deep: no stage is called $name; ci/deep.sh list" >&2; exit 2; }
done

. ci/stages.sh
ci/setup.sh base
failed=""
while read -r name _ line <&3; do
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    step "$name: $line"
    # Words: a script and its arguments.
    ${line%%:*} || failed+=" $name"
done 3< <(stages)

stage_times
[ -z "$failed" ] || { printf '\n=== failed:%s\n' "$failed"; exit 1; }
printf '\n=== all passed (%ds)\n' "$SECONDS"
