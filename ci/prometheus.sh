#!/usr/bin/env bash
# A real Prometheus scrapes the example `serve_metrics`, one of whose limits is on a real Redis server that is stopped
# halfway; then each query of the dashboard has to return data, and Redis to have answered first and failed afterwards.
# By hand: it takes a minute, after the build. Needs the Debian packages `prometheus`, `redis-server` and `jq`.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh base prometheus
dashboard=docs/grafana/sluicegate.json
port=${1:-19464}
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT

cargo build -q -p sluicegate-metrics --example serve_metrics
redis-server --port "$((port + 2))" --bind 127.0.0.1 --save "" --dir "$work" >"$work/redis" 2>&1 &
redis=$!
pids+=("$redis")
until redis-cli -p "$((port + 2))" ping 2>/dev/null | grep -q PONG; do
    kill -0 "$redis" || { cat "$work/redis" >&2; exit 1; }
    sleep 0.1
done
"${CARGO_TARGET_DIR:-target}/debug/examples/serve_metrics" --port "$port" \
    --redis "redis://127.0.0.1:$((port + 2))/" >"$work/server" 2>&1 &
pids+=($!)
# As the page on the service says, but more often.
{
    echo "global: { scrape_interval: 1s }"
    sed -n '/^# prometheus.yml/,/^```$/p' docs/serve.md | grep -v '^```' | sed "s/:8080/:$port/"
} >"$work/prometheus.yml"
promtool check config "$work/prometheus.yml" >/dev/null
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" \
    --web.listen-address="127.0.0.1:$((port + 1))" >"$work/prometheus" 2>&1 &
pids+=($!)
seconds=${SECONDS_OF_TRAFFIC:-20}
sleep "$((seconds / 2))"
kill "$redis"
sleep "$((seconds - seconds / 2))"

# As Grafana fills in its variables.
queries=$(jq -r '.panels[].targets[]?.expr' "$dashboard" |
    sed 's/\$limiter/.*/g; s/\$layer/.*/g; s/\$__rate_interval/15s/g; s/\$__range/1m/g')
failed=0 count=0
while IFS= read -r query; do
    # Only limiters of a policy have them: `crates/serve/tests` sees them on the page of a service.
    case $query in *sluicegate_lease* | *sluicegate_fallbacks*) continue ;; esac
    count=$((count + 1))
    answer=$(promtool query instant "http://127.0.0.1:$((port + 1))" "$query") || answer=""
    if [ -z "$answer" ]; then
        echo "no data: $query" >&2
        failed=1
    fi
done <<<"$queries"
for outcome in answered failed; do
    query="sum(sluicegate_redis_requests_total{outcome=\"$outcome\"}) > 0"
    if [ -z "$(promtool query instant "http://127.0.0.1:$((port + 1))" "$query")" ]; then
        echo "Redis has not $outcome: $query" >&2
        failed=1
    fi
done
[ "$count" -gt 0 ] || { echo "no queries in $dashboard" >&2; exit 1; }
[ "$failed" -eq 0 ] || { tail -n 5 "$work/server" "$work/prometheus" >&2; exit 1; }
echo "$count queries return data; requests to Redis were answered, and failed when it had stopped"
