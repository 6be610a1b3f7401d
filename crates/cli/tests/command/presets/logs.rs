//! The same requests as a log of each format.

use serde_json::{Value, json};

/// A request: client, second, method, path, status, bytes.
type Request = (&'static str, u32, &'static str, &'static str, u32, u32);

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101";

pub(super) const REQUESTS: [Request; 8] = [
    ("192.0.2.7", 3, "GET", "/", 200, 1000),
    ("192.0.2.7", 4, "GET", "/", 200, 1000),
    ("198.51.100.23", 4, "POST", "/api/login", 401, 73),
    ("198.51.100.23", 5, "POST", "/api/login", 401, 73),
    ("192.0.2.7", 5, "GET", "/a.css", 200, 1000),
    ("203.0.113.9", 6, "GET", "/robots.txt", 404, 5),
    ("192.0.2.7", 7, "GET", "/b.js", 200, 1000),
    ("198.51.100.23", 9, "POST", "/api/login", 429, 0),
];

pub(super) fn lines(line: impl Fn(&Request) -> String) -> String {
    REQUESTS.iter().map(|request| line(request) + "\n").collect()
}

pub(super) fn combined() -> String {
    lines(|(client, s, method, path, status, bytes)| {
        format!(
            "{client} - - [17/May/2015:10:05:{s:02} +0000] \"{method} {path}?q=1 HTTP/1.1\" {status} {bytes} \
             \"-\" \"{AGENT}\""
        )
    })
}

/// A name of `--format`, the name of what the first lines tell, and a log. The lines are those of the vendors'
/// documentation, with other values.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn logs() -> Vec<(&'static str, &'static str, String)> {
    let after = |more: &str| combined().replace('\n', &format!("{more}\n"));
    let json_lines = |line: &dyn Fn(&Request) -> Value| lines(|request| line(request).to_string());
    vec![
        ("combined", "", combined()),
        ("common", "", combined().replace(&format!(" \"-\" \"{AGENT}\""), "")),
        ("ingress-nginx", "ingress-nginx", after(" 512 0.004 [default-web-80] [] 10.1.2.3:8080 1000 0.004 200 8f1c2d3e4a5b")),
        ("traefik", "", after(" 17 \"web@docker\" \"http://10.0.0.5:80\" 12ms")),
        ("squid", "", after(" TCP_MISS:HIER_DIRECT")),
        (
            "vhost_combined",
            "vhost_combined",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "www.example.org:443 {client} - - [17/May/2015:10:05:{s:02} +0000] \"{method} {path} HTTP/1.1\" \
                     {status} {bytes} \"-\" \"{AGENT}\""
                )
            }),
        ),
        (
            "alb",
            "alb",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "h2 2015-05-17T10:05:{s:02}.000000Z app/my-loadbalancer/50dc6c495c0c9188 {client}:{} \
                     10.0.0.1:80 0.000 0.001 0.000 {status} {status} 34 {bytes} \
                     \"{method} https://www.example.com:443{path}?q=1 HTTP/2.0\" \"{AGENT}\" \
                     ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 \
                     arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 \
                     \"Root=1-58337262-36d228ad5d99923122bbe354\" \"www.example.com\" \"-\" 0 \
                     2015-05-17T10:05:{s:02}.000000Z \"forward\" \"-\" \"-\" \"10.0.0.1:80\" \"200\" \"-\" \"-\"",
                    40_000 + s
                )
            }),
        ),
        (
            "alb",
            "alb",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "2015-05-17T10:05:{s:02}.000000Z my-loadbalancer {client}:2817 10.0.0.1:80 0.000073 0.001048 \
                     0.000057 {status} {status} 0 {bytes} \"{method} http://www.example.com:80{path} HTTP/1.1\" \
                     \"{AGENT}\" - -"
                )
            }),
        ),
        (
            "cloudfront",
            "w3c",
            "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status \
             cs(Referer) cs(User-Agent) cs-uri-query\n"
                .to_owned()
                + &lines(|(client, s, method, path, status, bytes)| {
                    format!(
                        "2015-05-17\t10:05:{s:02}\tLHR62-C2\t{bytes}\t{client}\t{method}\td111.cloudfront.net\t{path}\t\
                         {status}\t-\tMozilla/5.0%20(X11)\tq=1"
                    )
                }),
        ),
        (
            "iis",
            "w3c",
            "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2015-05-17 00:00:00\n\
             #Fields: time c-ip cs-method cs-uri-stem sc-status sc-bytes cs(User-Agent)\n"
                .to_owned()
                + &lines(|(client, s, method, path, status, bytes)| {
                    format!("10:05:{s:02} {client} {method} {path} {status} {bytes} Mozilla/5.0+(X11)")
                }),
        ),
        (
            "haproxy",
            "haproxy",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "{client}:33317 [17/May/2015:10:05:{s:02}.000] http-in static/srv1 10/0/30/69/109 {status} \
                     {bytes} - - ---- 1/1/1/1/0 0/0 {{1wt.eu|}} {{}} \"{method} {path} HTTP/1.1\""
                )
            }),
        ),
        (
            "haproxy",
            "haproxy",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "{client}:33317 [17/May/2015:10:05:{s:02}.000] https~ app/srv1 10/0/30/69/109 {status} {bytes} \
                     - - ---- 1/1/1/1/0 0/0 \"{method} {path} HTTP/2.0\" 0/00000000/0/0/0 -/TLSv1.3/TLS_AES_128"
                )
            }),
        ),
        (
            "envoy",
            "envoy",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "[2015-05-17T10:05:{s:02}.000Z] \"{method} {path} HTTP/1.1\" {status} - 0 {bytes} 226 100 \
                     \"10.9.9.9, {client}\" \"{AGENT}\" \"f9a1f4a2-5b5a\" \"example.org\" \"10.0.35.28:80\""
                )
            }),
        ),
        (
            "envoy",
            "envoy",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "[2015-05-17T10:05:{s:02}.000Z] \"{method} {path} HTTP/1.1\" {status} - via_upstream - \"-\" 0 \
                     {bytes} 3 2 \"-\" \"{AGENT}\" \"84961386-6d84\" \"httpbin:8000\" \"10.44.1.27:80\" \
                     inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 {client}:37652 \
                     outbound_.8000_._.httpbin.foo.svc default"
                )
            }),
        ),
        (
            "s3",
            "s3",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "79a59df900b949e5 my-bucket [17/May/2015:10:05:{s:02} +0000] {client} - 3E57427F3EXAMPLE \
                     REST.GET.OBJECT - \"{method} {path} HTTP/1.1\" {status} - {bytes} - 7 - \"-\" \"{AGENT}\" - \
                     s9lzHYrFp76ZVxRcpX9= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader my-bucket.s3.amazonaws.com TLSv1.2 - -"
                )
            }),
        ),
        (
            "squid",
            "squid",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "14318571{s:02}.000 {:>6} {client} TCP_MISS/{status} {bytes} {method} http://example.org{path} - \
                     HIER_DIRECT/93.184.216.34 text/html",
                    s * 7
                )
            }),
        ),
        (
            "ltsv",
            "ltsv",
            lines(|(client, s, method, path, status, bytes)| {
                format!(
                    "time:[17/May/2015:10:05:{s:02} +0000]\thost:{client}\treq:{method} {path} HTTP/1.1\tstatus:{status}\
                     \tsize:{bytes}\treferer:-\tua:{AGENT}\treqtime:0.03"
                )
            }),
        ),
        (
            "traefik",
            "json",
            json_lines(&|(client, s, method, path, status, bytes)| {
                json!({
                    "ClientAddr": format!("{client}:4711"), "ClientHost": client, "ClientPort": "4711",
                    "DownstreamContentSize": bytes, "DownstreamStatus": status, "RequestMethod": method,
                    "RequestPath": path, "RouterName": "web@docker", "level": "info", "msg": "",
                    "time": format!("2015-05-17T10:05:{s:02}Z"),
                })
            }),
        ),
        (
            "caddy",
            "json",
            json_lines(&|(client, s, method, path, status, bytes)| {
                json!({
                    "level": "info", "ts": 1_431_857_100 + s, "logger": "http.log.access", "msg": "handled request",
                    "request": {
                        "remote_ip": "10.0.0.1", "remote_port": "41342", "client_ip": client, "proto": "HTTP/2.0",
                        "method": method, "host": "localhost", "uri": path,
                        "headers": { "User-Agent": [AGENT] },
                    },
                    "bytes_read": 0, "user_id": "", "duration": 0.000_9, "size": bytes, "status": status,
                })
            }),
        ),
        (
            "envoy",
            "json",
            json_lines(&|(client, s, method, path, status, bytes)| {
                json!({
                    "start_time": format!("2015-05-17T10:05:{s:02}.000Z"), "method": method, "path": path,
                    "response_code": status, "bytes_sent": bytes, "bytes_received": 0, "protocol": "HTTP/1.1",
                    "downstream_remote_address": format!("{client}:55012"), "user_agent": AGENT,
                })
            }),
        ),
        (
            "cloudflare",
            "json",
            json_lines(&|(client, s, method, path, status, bytes)| {
                json!({
                    "ClientIP": client, "ClientRequestHost": "example.org", "ClientRequestMethod": method,
                    "ClientRequestURI": path, "ClientRequestUserAgent": AGENT, "EdgeResponseBytes": bytes,
                    "EdgeResponseStatus": status, "EdgeStartTimestamp": format!("2015-05-17T10:05:{s:02}Z"),
                    "EdgeEndTimestamp": format!("2015-05-17T10:06:{s:02}Z"), "RayID": "3a6050bcbe121a87",
                })
            }),
        ),
        (
            "gcp",
            "json",
            json_lines(&|(client, s, method, path, status, bytes)| {
                json!({
                    "httpRequest": {
                        "remoteIp": client, "requestMethod": method, "status": status,
                        "requestUrl": format!("https://example.org{path}"), "responseSize": bytes.to_string(),
                        "userAgent": AGENT, "serverIp": "10.0.0.2",
                    },
                    "insertId": "x", "resource": { "type": "http_load_balancer" },
                    "timestamp": format!("2015-05-17T10:05:{s:02}.000000Z"),
                    "receiveTimestamp": "2015-05-17T10:09:00.5Z",
                })
            }),
        ),
        (
            "csv",
            "csv",
            "time,client,method,path,status,bytes\n".to_owned()
                + &lines(|(client, s, method, path, status, bytes)| {
                    format!("2015-05-17T10:05:{s:02}Z,{client},{method},{path},{status},{bytes}")
                }),
        ),
    ]
}
