//! nginx in front of a server.

use super::proxy::Proxy;

/// Starts nginx with these directives of its server.
#[allow(dead_code, reason = "not each of the tests that have it wants it")]
pub(crate) fn serve(server: &str) -> Proxy {
    start(&format!("server {{ {server} }}"))
}

/// Starts nginx with these directives of its block `http`.
pub(crate) fn start(http: &str) -> Proxy {
    let configuration = format!(
        "daemon off; master_process off; pid FOLDER/pid; error_log stderr;
         events {{}}
         http {{
             access_log off;
             client_body_temp_path FOLDER; proxy_temp_path FOLDER; fastcgi_temp_path FOLDER;
             uwsgi_temp_path FOLDER; scgi_temp_path FOLDER;
             {http}
         }}"
    );
    Proxy::start("nginx", &["-e", "stderr", "-c", "FOLDER/configuration.yaml"], &configuration)
}
