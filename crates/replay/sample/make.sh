#!/usr/bin/env bash
# Makes access.log.gz, the log that `sluicegate` replays when it is given none.
#
# Runs nginx on a loopback port from a private folder, sends it three minutes of
# mixed traffic from many loopback addresses, and packs the access log that
# nginx wrote, untouched. What it sends:
#
#   127.0.0.11-34    people: a page with its assets, then a pause
#   127.0.0.50-51    signed-in API clients at a steady rate (users ci-bot, alice)
#   ::1              a health check, HEAD once a second
#   127.0.0.60       a feed reader that revalidates (304)
#   127.0.0.61       a mirror that fetches large files
#   127.0.0.66       a scraper that comes in bursts
#   127.0.0.77       a scanner: TLS on the plain port, odd methods, missing pages
#   127.0.0.98-99    two guessers of passwords
#   127.0.0.201-206  floods of a few seconds
#
# Every loop is counted, and the whole load is stopped after four minutes. It
# needs nginx and curl (7.84 or newer): apt-get install nginx-light curl.
# Takes no argument; the port is 8931 unless PORT says otherwise.
set -euo pipefail
cd "$(dirname "$0")"

port=${PORT:-8931}
base=http://127.0.0.1:$port
root=$(mktemp -d)

stop() {
    [ -s "$root/nginx.pid" ] && kill "$(cat "$root/nginx.pid")" && sleep 1
    rm -rf "$root"
}
trap stop EXIT

# --- the site

mkdir -p "$root"/site/{articles,assets,files} "$root/tmp"
chmod -R a+rX "$root"
for n in {1..40}; do
    head -c $((2000 + n * 311)) /dev/zero | tr '\0' 'a' > "$root/site/articles/$n.html"
done
for n in {1..8}; do head -c $((20000 + n * 5000)) /dev/urandom > "$root/site/assets/photo-$n.jpg"; done
for asset in site.css app.js logo.png; do head -c 9000 /dev/zero > "$root/site/assets/$asset"; done
for n in {1..4}; do head -c $((n * 1000000)) /dev/zero > "$root/site/files/release-$n.tar"; done
echo '<rss/>' > "$root/site/feed.xml"
echo '<h1>A site</h1>' > "$root/site/index.html"

# Two workers that each buffer their log make some lines late, as on a busy
# server.
cat > "$root/nginx.conf" <<CONF
worker_processes 2;
pid $root/nginx.pid;
error_log $root/error.log;
events { worker_connections 512; }
http {
    access_log $root/access.log combined buffer=8k flush=1s;
    client_body_temp_path $root/tmp;
    types { text/html html; text/css css; image/jpeg jpg; }
    server {
        listen 127.0.0.1:$port reuseport;
        listen [::1]:$port reuseport;
        root $root/site;
        if_modified_since before;
        location = /healthz { return 200 "ok\n"; }
        location = /login { if (\$request_method = POST) { return 401 "no\n"; } return 200 "name?\n"; }
        location /api/ { default_type application/json; return 200 '{"items":[1,2,3]}'; }
    }
}
CONF
TZ=UTC nginx -p "$root" -c "$root/nginx.conf"

# --- the traffic

firefox='Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
chrome='Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'
safari='Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15'

# from ADDRESS AGENT ARGUMENT...: one curl, from that address, result ignored.
from() {
    local address=$1 agent=$2
    shift 2
    curl --silent --output /dev/null --interface "$address" --user-agent "$agent" \
        --max-time 20 --remove-on-error "$@" > /dev/null 2>&1 || true
}

person() { # ADDRESS AGENT SEED
    RANDOM=$3
    for _ in {1..36}; do
        local page=$base/articles/$((RANDOM % 43 + 1)).html
        from "$1" "$2" --referer "$base/" "$page"
        from "$1" "$2" --referer "$page" --parallel --parallel-max 6 \
            "$base/assets/{site.css,app.js,logo.png}" "$base/assets/photo-[1-8].jpg"
        sleep $((RANDOM % 5 + 2)).$((RANDOM % 10))
    done
}

api_client() { # ADDRESS USER PER_SECOND CALLS
    from "$1" "$2/1.4 (+\"quoted\")" --max-time 200 --user "$2:secret" --rate "$3/s" \
        "$base/api/v1/items?page=[1-$4]"
}

health_check() {
    curl --silent --head --user-agent 'kube-probe/1.30' --rate 1/s \
        "http://[::1]:$port/healthz?n=[1-170]" > /dev/null || true
}

feed_reader() {
    for _ in {1..30}; do
        from 127.0.0.60 'FeedFetcher/2.1' --time-cond "$(date --utc --rfc-email)" "$base/feed.xml"
        sleep 5
    done
}

mirror() {
    for _ in {1..25}; do
        from 127.0.0.61 'Wget/1.21.3' "$base/files/release-[1-4].tar"
        sleep 6
    done
}

scraper() {
    for _ in {1..9}; do
        from 127.0.0.66 'python-requests/2.32.3' --parallel --parallel-max 20 \
            "$base/articles/[1-40].html" "$base/articles/[1-40].html?print=1" \
            "$base/assets/photo-[1-8].jpg" "$base/private/[1-60].html"
        sleep 18
    done
}

guesser() { # ADDRESS WAIT PER_SECOND GUESSES
    sleep "$2"
    from "$1" 'Mozilla/4.0 (compatible; MSIE 6.0)' "$base/login"
    from "$1" 'Mozilla/4.0 (compatible; MSIE 6.0)' --max-time 200 --rate "$3/s" \
        --data 'name=admin&password=guess' "$base/login?try=[1-$4]"
}

flood() { # ADDRESS WAIT
    sleep "$2"
    for _ in {1..12}; do
        from "$1" 'curl/7.88.1' --parallel --parallel-max 40 "$base/?flood=[1-100]"
        sleep 0.7
    done
}

oddities() {
    for n in {1..15}; do
        from 127.0.0.77 'zgrab/0.x' "https://127.0.0.1:$port/"
        from 127.0.0.77 'zgrab/0.x' --request DELETE "$base/articles/$n.html"
        from 127.0.0.77 'zgrab/0.x' --request POST "$base/articles/$n.html"
        from 127.0.0.77 'zgrab/0.x' "$base/{.env,wp-login.php,.git/config}"
        sleep 9
    done
}

load=()
run() {
    "$@" &
    load+=($!)
}
agents=("$firefox" "$chrome" "$safari")
for n in {11..34}; do run person "127.0.0.$n" "${agents[n % 3]}" "$n"; done
run api_client 127.0.0.50 ci-bot 12 2000
run api_client 127.0.0.51 alice 3 500
run health_check
run feed_reader
run mirror
run scraper
run guesser 127.0.0.98 20 2 200
run guesser 127.0.0.99 70 10 500
for n in 1 2 3; do run flood "127.0.0.20$n" 45; done
for n in 4 5 6; do run flood "127.0.0.20$n" $((110 + n * 2)); done
run oddities

(sleep 240 && kill "${load[@]}" 2> /dev/null) &
watchdog=$!
wait "${load[@]}"
kill "$watchdog"

# --- the log

sleep 2 # the workers' buffers
gzip --best --no-name < "$root/access.log" > access.log.gz
ls -l access.log.gz
echo "$(zcat access.log.gz | wc -l) lines"
