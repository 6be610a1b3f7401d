//! Configurations of proxies in front of a server.

use std::net::SocketAddr;

use crate::nginx;
use crate::proxy::Proxy;

/// Starts nginx with these lines about fields.
pub(super) fn nginx(fields: &str, server: SocketAddr) -> Proxy {
    nginx::serve(&format!("listen LISTEN; location / {{ {fields} proxy_pass http://{server}; }}"))
}

/// Starts `HAProxy` with an option.
pub(super) fn haproxy(option: &str, server: SocketAddr) -> Proxy {
    let configuration = format!(
        "defaults
    mode http
    timeout connect 10s
    timeout client 10s
    timeout server 10s
listen limits
    bind LISTEN
    {option}
    server axum {server}
"
    );
    Proxy::start("haproxy", &["-db", "-f", "FOLDER/configuration.yaml"], &configuration)
}

/// Starts Caddy with options of its `reverse_proxy`.
pub(super) fn caddy(options: &str, server: SocketAddr) -> Proxy {
    let configuration = format!(
        "{{
    admin off
    auto_https off
    storage file_system FOLDER
}}
http://:PORT {{
    bind 127.0.0.1
    reverse_proxy {server} {{
        {options}
    }}
}}
"
    );
    let arguments = ["run", "--config", "FOLDER/configuration.yaml", "--adapter", "caddyfile"];
    Proxy::start("caddy", &arguments, &configuration)
}

/// Starts Apache httpd, which adds the field unless it is told not to. With `-X`, it is one process, which
/// ends with the test.
pub(super) fn apache(server: SocketAddr) -> Proxy {
    let configuration = format!(
        "ServerRoot FOLDER
ServerName localhost
DefaultRuntimeDir FOLDER
PidFile FOLDER/pid
ErrorLog /dev/stderr
Listen LISTEN
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
User nobody
Group nogroup
ProxyPass / http://{server}/
"
    );
    Proxy::start("apache2", &["-X", "-f", "FOLDER/configuration.yaml"], &configuration)
}
