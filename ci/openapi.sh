#!/usr/bin/env bash
# Validates the service's description in OpenAPI, and asks a running service all that it describes with a fuzzer that works
# from it (schemathesis). Both are in PyPI.
#
#   ci/openapi.sh          both
#   ci/openapi.sh check    the validator alone
#
# The fuzzer expects that no question breaks the service, and that each answer has a status, a media type and a content that
# are described. It cannot know which keys a policy has, so questions that are right by the description may be refused.
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "openapi: $*" >&2; exit 1; }
[[ ${1:-} =~ ^(check)?$ ]] && [ $# -le 1 ] || { echo "usage: ci/openapi.sh [check]" >&2; exit 2; }
command -v python3 >/dev/null || die "no python3, which the validator and the fuzzer need"

# SLUICEGATE is the command if it is built already.
target=$(realpath "${CARGO_TARGET_DIR:-target}")
[ -n "${SLUICEGATE:-}" ] || cargo build -q -p sluicegate-cli --features serve
sluicegate=${SLUICEGATE:-$target/debug/sluicegate}
folder=$target/openapi
mkdir -p "$folder"

# Installs a package into a folder of its own, and prints that.
package() {
    [ -d "$folder/$1" ] || python3 -m pip install -q --disable-pip-version-check --target "$folder/$1" "$1" >&2 \
        || die "cannot install $1 from PyPI"
    echo "$folder/$1"
}

# The names are those of the description's examples, so that the fuzzer comes beyond them.
cat >"$folder/limits.toml" <<'TOML'
[limiters.api]
key = "client"
policy = "token_bucket"
limit = 60
rate = { amount = 1, interval = "1 second" }
wait = "100 ms"

[limiters.log-ins]
key = "client"
policy = "sliding_window"
limit = 10
interval = "1 minute"
max_keys = 1_000
penalty = { offences = 3, within = "1 minute", refuse_for = "1 second", by = { status = [401, 403] } }

[[hierarchy]]
name = "user"
key = ["org", "user"]
counts = "tokens"
policy = "token_bucket"
limit = 50_000
rate = { amount = 50_000, interval = "1 minute" }
TOML
echo "0123456789abcdef" >"$folder/token"
# The log of the run before must not be read while the service starts.
rm -f "$folder/log"
"$sluicegate" serve --policy "$folder/limits.toml" --admin-token-file "$folder/token" --listen 127.0.0.1:0 \
    2>"$folder/log" &
service=$!
trap 'kill "$service" 2>/dev/null || true' EXIT
until url=$(grep -so 'http://[0-9.:]*' "$folder/log"); do
    kill -0 "$service" || die "the service has ended: $(<"$folder/log")"
    sleep 0.1
done
python3 -c 'import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1]).read().decode())' \
    "$url/openapi.json" >"$folder/openapi.json"

PYTHONPATH=$(package openapi-spec-validator==0.9.0) python3 -m openapi_spec_validator "$folder/openapi.json"
[ "${1:-}" != check ] || exit 0
packages=$(package schemathesis==4.32.5)
# It leaves files where it is run.
cd "$folder"
PYTHONPATH=$packages python3 -c 'from schemathesis.cli import schemathesis; schemathesis()' \
    run "$folder/openapi.json" --url "$url" -H "Authorization: Bearer $(<"$folder/token")" -n "${OPENAPI_EXAMPLES:-200}" \
    --exclude-checks positive_data_acceptance
kill -0 "$service" || die "the service has ended"
