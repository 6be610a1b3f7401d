//! Path templates, such as `/users/{id}`.

use std::fmt;
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
                router.insert(template.as_str(), all.len()).map_err(|error| reason(&error))
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

/// Returns what is wrong with a template, in words.
/// Returns the path of a request's target: what stands before the query, without scheme and host.
///
/// The path is as it was sent: percent-encoding and dot segments are left as they are. A target that is no
/// path, such as `*` or the authority of a CONNECT, is returned whole.
#[must_use]
pub fn path_of_target(target: &[u8]) -> &[u8] {
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
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

fn reason(error: &matchit::InsertError) -> String {
    match error {
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
        assert!(error(&["users"]).contains("begin with a slash"));
        assert!(error(&["/{}"]).contains("in braces"));
        assert!(error(&["/{*rest}/more"]).contains("must be the end"));
        assert!(error(&["/a{"]).contains("twice the brace"));
    }
}
