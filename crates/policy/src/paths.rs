//! Path templates, such as `/users/{id}`, and the one spelling in which paths are compared.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use matchit::Router;

/// Templates of paths, of which the most specific counts that a path matches.
///
/// `{name}` stands for one segment, `{*name}` at the end for one or more; all other text stands for
/// itself. A brace is written twice. At each segment text is more specific than `{name}`, which is more specific
/// than `{*name}`: so the order of templates makes no difference.
#[derive(Clone, Default)]
pub struct PathTemplates {
    templates: Vec<String>,
    router: Arc<Router<usize>>,
}

/// A template that is not valid, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a path template: {reason}", crate::escaped(.template))]
pub struct BadTemplate {
    /// The template.
    pub template: String,
    /// The mistake, and what to write instead.
    pub reason: String,
}

impl PathTemplates {
    /// Reads templates.
    ///
    /// # Errors
    ///
    /// [`BadTemplate`], the first that is not valid, or that matches the same paths as another one.
    pub fn new(
        templates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<PathTemplates, BadTemplate> {
        let (mut all, mut router) = (Vec::new(), Router::new());
        for template in templates {
            let template: String = template.into();
            let inserted = if template.starts_with('/') {
                router
                    .insert(template.as_str(), all.len())
                    .map_err(|error| reason(&template, &error))
            } else {
                Err("paths begin with a slash".to_owned())
            };
            match inserted {
                Ok(()) => all.push(template),
                Err(reason) => return Err(BadTemplate { template, reason }),
            }
        }
        Ok(PathTemplates { templates: all, router: Arc::new(router) })
    }

    /// Returns the template that a path matches.
    #[must_use]
    pub fn of(&self, path: &[u8]) -> Option<&str> {
        let place = *self.router.at(std::str::from_utf8(path).ok()?).ok()?.value;
        self.templates.get(place).map(String::as_str)
    }

    /// Returns the templates, in their order.
    #[must_use]
    pub fn templates(&self) -> &[String] {
        &self.templates
    }

    /// Returns true if there is no template.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }
}

/// Returns the path of a request's target: what stands before the query and the fragment, without scheme and host.
///
/// The path is as it was sent: percent-encoding and dot segments are left as they are. A target that is no
/// path, such as `*` or the authority of a CONNECT, is returned whole.
#[must_use]
pub fn path_of_target(target: &[u8]) -> &[u8] {
    let path = target.split(|byte| matches!(byte, b'?' | b'#')).next().unwrap_or_default();
    if path.first() == Some(&b'/') {
        return path;
    }
    let Some(scheme) = path.windows(3).position(|window| window == b"://") else { return path };
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    if scheme == 0 || !path[..scheme].iter().all(is_scheme) {
        return path;
    }
    let host = &path[scheme + 3..];
    host.iter().position(|byte| *byte == b'/').map_or(b"/", |slash| &host[slash..])
}

/// Returns what is wrong with a template, in words.
fn reason(template: &str, error: &matchit::InsertError) -> String {
    match error {
        matchit::InsertError::Conflict { with }
            if template.contains("{*") != with.contains("{*") =>
        {
            format!(
                "it has paths in common with `{with}`, beside which it cannot stand; keep one of them"
            )
        }
        matchit::InsertError::Conflict { with } => {
            format!("it matches the same paths as `{with}`; keep one of them")
        }
        matchit::InsertError::InvalidParam => {
            "expected a name of letters in braces, as in `/users/{id}`, or twice the brace"
                .to_owned()
        }
        matchit::InsertError::InvalidCatchAll => {
            "`{*name}` stands for all that follows, and must be the end".to_owned()
        }
        matchit::InsertError::InvalidParamSegment => {
            "a segment has one `{name}`, and nothing else".to_owned()
        }
        other => other.to_string(),
    }
}

impl PartialEq for PathTemplates {
    fn eq(&self, other: &PathTemplates) -> bool {
        self.templates == other.templates
    }
}

impl Eq for PathTemplates {}

impl fmt::Debug for PathTemplates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathTemplates").field(&self.templates).finish()
    }
}

/// Returns a path in the one spelling in which policies compare it, so that another spelling escapes no limit. It has no
/// query.
///
/// * Escapes are decoded once: `/%6cogin` and `/x%2f..%2flogin` are `/login`, as for nginx. Those of `%`, `?`, `#`, spaces
///   and controls stay, in upper case, and so do bytes that are not UTF-8.
/// * Empty segments and `.` are left out, and `..` leaves out the segment before it: `//login`, `/./login` and
///   `/a/../login` are `/login`. A slash at the end stays.
/// * A text that does not begin with a slash, such as `*`, is itself.
///
/// The spelling of a spelling is itself. Allocates only for a path in another spelling.
///
/// # Examples
///
/// ```
/// assert_eq!(*sluicegate_policy::normal_path(b"/x/..//%6cogin/"), *b"/login/");
/// ```
#[must_use]
pub fn normal_path(path: &[u8]) -> Cow<'_, [u8]> {
    if path.first() != Some(&b'/') || is_normal(path) {
        return Cow::Borrowed(path);
    }
    let decoded = decoded(path);
    let mut normal: Vec<u8> = Vec::with_capacity(decoded.len());
    let mut segments = decoded[1..].split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let is_dots = matches!(segment, b"." | b"..");
        if segment == b".." {
            let end = normal.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            normal.truncate(end);
        }
        if !is_dots && !segment.is_empty() {
            normal.push(b'/');
            normal.extend_from_slice(segment);
        } else if is_last {
            normal.push(b'/');
        }
    }
    Cow::Owned(normal)
}

fn is_normal(path: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'%';
    let mut segments = path[1..].split(|byte| *byte == b'/').peekable();
    path.iter().all(is_plain)
        && std::iter::from_fn(|| {
            segments.next().map(|segment| (segment, segments.peek().is_none()))
        })
        .all(|(segment, is_last)| {
            !matches!(segment, b"." | b"..") && (is_last || !segment.is_empty())
        })
}

/// Decodes the escapes that are to be decoded, and writes bytes that are not UTF-8 as escapes.
fn decoded(path: &[u8]) -> Vec<u8> {
    let digit = |at: usize| path.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut bytes, mut at) = (Vec::with_capacity(path.len()), 0);
    while let Some(byte) = path.get(at) {
        let escape = (*byte == b'%').then(|| Some(digit(at + 1)? * 16 + digit(at + 2)?)).flatten();
        match escape.and_then(|code| u8::try_from(code).ok()) {
            Some(code @ (0..=b' ' | b'%' | b'?' | b'#' | 0x7f)) => {
                // Writing to a vector cannot fail.
                let _ = write!(bytes, "%{code:02X}");
                at += 3;
            }
            Some(code) => {
                bytes.push(code);
                at += 3;
            }
            None => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    if str::from_utf8(&bytes).is_ok() {
        return bytes;
    }
    let mut text = Vec::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_template_counts_in_any_order() {
        let mut templates =
            ["/users/{id}", "/users/me", "/users/{id}/posts/{post}", "/{*rest}", "/"];
        for _ in 0..2 {
            templates.reverse();
            let all = PathTemplates::new(templates).unwrap();
            for (path, template) in [
                ("/users/7", "/users/{id}"),
                ("/users/me", "/users/me"),
                ("/users/men", "/users/{id}"),
                ("/users/7/posts/9", "/users/{id}/posts/{post}"),
                ("/users/me/posts/9", "/users/{id}/posts/{post}"),
                ("/users/7/posts", "/{*rest}"),
                ("/users/", "/{*rest}"),
                ("/", "/"),
            ] {
                assert_eq!(all.of(path.as_bytes()), Some(template), "{path}");
            }
            assert_eq!(all.of(b"-"), None);
            assert_eq!(all.of(b"/caf\xe9"), None);
        }
    }

    #[test]
    fn a_path_has_no_scheme_no_host_and_no_query() {
        for (target, path) in [
            ("/a/b?c=/d", "/a/b"),
            ("/a/b#c", "/a/b"),
            ("/a/b#?c", "/a/b"),
            ("https://www.example.com:443/a/b?c", "/a/b"),
            ("http://[2001:db8::1]:80", "/"),
            ("http://host?q=/a", "/"),
            ("/r/http://other/x", "/r/http://other/x"),
            ("/%61/../b", "/%61/../b"),
            ("*", "*"),
            ("host:443", "host:443"),
            ("://x", "://x"),
            ("-", "-"),
        ] {
            assert_eq!(path_of_target(target.as_bytes()), path.as_bytes(), "{target}");
        }
    }

    #[test]
    fn templates_that_mean_the_same_are_refused() {
        let error = |templates: &[&str]| {
            PathTemplates::new(templates.iter().copied()).unwrap_err().to_string()
        };
        assert!(error(&["/a/{x}", "/a/{y}"]).contains("matches the same paths as `/a/{x}`"));
        assert!(error(&["/a", "/a"]).contains("keep one of them"));
        for both in [["/a/{x}/{y}", "/a/{*rest}"], ["/a/{*rest}", "/a/{x}/{y}"]] {
            assert!(error(&both).contains("it has paths in common with"), "{}", error(&both));
        }
        assert!(error(&["users"]).contains("begin with a slash"));
        assert!(error(&["/{}"]).contains("in braces"));
        assert!(error(&["/{*rest}/more"]).contains("must be the end"));
        assert!(error(&["/a{"]).contains("twice the brace"));
    }

    #[test]
    fn a_path_has_one_spelling() {
        for (path, spelling) in [
            ("/login", "/login"),
            ("/%6cogin", "/login"),
            ("/%6Cog%69n", "/login"),
            ("//login", "/login"),
            ("/./login", "/login"),
            ("/a/../login", "/login"),
            ("/../../login", "/login"),
            ("/%2e%2E/login", "/login"),
            ("/login/", "/login/"),
            ("/login/.", "/login/"),
            ("/login//", "/login/"),
            ("/a/b/..", "/a/"),
            ("/", "/"),
            ("//", "/"),
            ("/..", "/"),
            ("/.well-known/x", "/.well-known/x"),
            ("/..a/...", "/..a/..."),
            ("/a%2fb", "/a/b"),
            ("/x%2f..%2flogin", "/login"),
            ("/%2flogin", "/login"),
            ("/static/..%2Flogin", "/login"),
            ("/%2e%2e%2flogin", "/login"),
            ("/%256cogin", "/%256cogin"),
            ("/a%3fb%23%20%0a", "/a%3Fb%23%20%0A"),
            ("/caf%c3%a9", "/caf\u{e9}"),
            ("/caf\u{e9}", "/caf\u{e9}"),
            ("/caf%e9", "/caf%E9"),
            ("/100%", "/100%"),
            ("/%zz/%4", "/%zz/%4"),
            ("*", "*"),
            ("-", "-"),
            ("", ""),
            ("http://a//b", "http://a//b"),
        ] {
            let normal = normal_path(path.as_bytes());
            assert_eq!(String::from_utf8_lossy(&normal), spelling, "{path}");
            assert_eq!(normal_path(&normal), normal, "{path}");
        }
        assert_eq!(*normal_path(b"/caf\xe9"), *b"/caf%E9");
    }
}
