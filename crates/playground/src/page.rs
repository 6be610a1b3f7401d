//! The files of the page, which the program contains.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};

/// A file of the page.
#[derive(Clone, Copy, Debug)]
struct PageFile {
    name: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

/// Lists files of `page/`, each with its media type.
macro_rules! files {
    ($($name:literal: $media_type:ident),* $(,)?) => {
        [$(PageFile {
            name: $name,
            media_type: $media_type,
            bytes: include_bytes!(concat!("../page/", $name)),
        }),*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// All files. The first is the page itself.
const FILES: &[PageFile] = &files![
    "index.html": HTML,
    "clock.js": JAVASCRIPT,
    "colours.js": JAVASCRIPT,
    "copy.js": JAVASCRIPT,
    "decisions.js": JAVASCRIPT,
    "dom.js": JAVASCRIPT,
    "draw/axis.js": JAVASCRIPT,
    "draw/bucket.js": JAVASCRIPT,
    "draw/concurrency.js": JAVASCRIPT,
    "draw/limiter.js": JAVASCRIPT,
    "draw/line.js": JAVASCRIPT,
    "draw/log.js": JAVASCRIPT,
    "draw/scene.js": JAVASCRIPT,
    "draw/ticks.js": JAVASCRIPT,
    "draw/windows.js": JAVASCRIPT,
    "drawings.css": CSS,
    "form.js": JAVASCRIPT,
    "history.js": JAVASCRIPT,
    "icon.svg": SVG,
    "link.js": JAVASCRIPT,
    "live.css": CSS,
    "live.html": HTML,
    "live.js": JAVASCRIPT,
    "main.js": JAVASCRIPT,
    "parts.css": CSS,
    "playground.js": JAVASCRIPT,
    "requests.js": JAVASCRIPT,
    "scenarios.js": JAVASCRIPT,
    "session.js": JAVASCRIPT,
    "setup.js": JAVASCRIPT,
    "shortcuts.js": JAVASCRIPT,
    "side.js": JAVASCRIPT,
    "style.css": CSS,
    "summary.js": JAVASCRIPT,
    "theme.js": JAVASCRIPT,
    "time.js": JAVASCRIPT,
    "timeline.js": JAVASCRIPT,
    "words.js": JAVASCRIPT,
];

/// Allows nothing that is not a file of this server, and nothing inline.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page: `/`, and one for each of its other files.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().enumerate().fold(Router::new(), |routes, (place, file)| {
        // The first is the page itself.
        let path = if place == 0 { "/".to_owned() } else { format!("/{}", file.name) };
        let tag = tag(file.bytes);
        routes
            .route(&path, get(move |fields: HeaderMap| async move { file.response(&tag, &fields) }))
    })
}

impl PageFile {
    fn response(&self, tag: &str, fields: &HeaderMap) -> Response {
        let known = fields.get_all(header::IF_NONE_MATCH).iter();
        let mut known =
            known.filter_map(|value| value.to_str().ok()).flat_map(|tags| tags.split(','));
        let is_known = known.any(|known| known.trim().trim_start_matches("W/") == tag);
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            ([(header::CONTENT_TYPE, self.media_type)], self.bytes).into_response()
        };
        let fields = response.headers_mut();
        if let Ok(tag) = HeaderValue::from_str(tag) {
            fields.insert(header::ETAG, tag);
        }
        // Asks each time, so that a new version of the program is a new page.
        fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        fields.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        fields.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

/// Returns the entity tag of a file: the same for the same bytes.
fn tag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn files_in(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let relative =
            |path: &PathBuf| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        let mut there: Vec<_> = files_in(&folder).iter().map(relative).collect();
        let mut served: Vec<_> = FILES.iter().map(|file| file.name.to_owned()).collect();
        there.sort();
        served.sort();
        assert_eq!(served, there);
        assert_eq!(FILES[0].name, "index.html");
    }
}
