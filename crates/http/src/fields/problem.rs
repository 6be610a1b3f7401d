//! Bodies that tell why a request was refused: problem details (RFC 9457).

mod violation;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use self::violation::violation;

/// The most bytes of a body that are parsed.
pub const MAX_PROBLEM_BYTES: usize = 65_536;

/// The beginning of the types that IANA has registered.
const IANA: &str = "https://iana.org/assignments/http-problem-types#";

/// Problem details of a refusal, the body of type `application/problem+json`.
///
/// # Examples
///
/// ```
/// use sluicegate_http::fields::{Problem, ProblemType};
///
/// let problem = Problem::new(ProblemType::QuotaExceeded).violating(["daily"]);
/// let body = problem.to_json();
/// assert_eq!(Problem::from_json(&body), Some(problem));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The type.
    pub kind: ProblemType,
    /// The status of the response, if it is told.
    pub status: Option<StatusCode>,
    /// A summary, which is the same for all problems of a type.
    pub title: Option<String>,
    /// An explanation of this problem.
    pub detail: Option<String>,
    /// A URI of this problem.
    pub instance: Option<String>,
    /// The names of the policies that have refused.
    pub violated_policies: Vec<String>,
    /// The class of the request, of a limit with classes: the member `class`, which is not one of the drafts.
    pub class: Option<String>,
}

/// The type of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemType {
    /// The client has used up a quota.
    QuotaExceeded,
    /// The server can do less than usual.
    TemporaryReducedCapacity,
    /// The client's requests look like a fault or an attack.
    AbnormalUsageDetected,
    /// Nothing but the status: `about:blank`, or no type at all.
    Blank,
    /// Another type, by its URI.
    Other(String),
}

impl ProblemType {
    /// Returns the URI.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ProblemType::QuotaExceeded => {
                "https://iana.org/assignments/http-problem-types#quota-exceeded"
            }
            ProblemType::TemporaryReducedCapacity => {
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
            }
            ProblemType::AbnormalUsageDetected => {
                "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"
            }
            ProblemType::Blank => "about:blank",
            ProblemType::Other(uri) => uri,
        }
    }

    /// Returns the status of responses with such a problem, if it has one of its own.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            ProblemType::QuotaExceeded | ProblemType::AbnormalUsageDetected => {
                Some(StatusCode::TOO_MANY_REQUESTS)
            }
            ProblemType::TemporaryReducedCapacity => Some(StatusCode::SERVICE_UNAVAILABLE),
            ProblemType::Blank | ProblemType::Other(_) => None,
        }
    }

    fn title(&self) -> Option<&'static str> {
        match self {
            ProblemType::QuotaExceeded => {
                Some("Request cannot be satisfied as assigned quota has been exceeded")
            }
            ProblemType::TemporaryReducedCapacity => {
                Some("Request cannot be satisfied due to temporary server capacity constraints")
            }
            ProblemType::AbnormalUsageDetected => {
                Some("Request not satisfied due to detection of abnormal request pattern")
            }
            ProblemType::Blank | ProblemType::Other(_) => None,
        }
    }
}

impl From<&str> for ProblemType {
    fn from(uri: &str) -> ProblemType {
        match uri.strip_prefix(IANA) {
            Some("quota-exceeded") => ProblemType::QuotaExceeded,
            Some("temporary-reduced-capacity") => ProblemType::TemporaryReducedCapacity,
            Some("abnormal-usage-detected") => ProblemType::AbnormalUsageDetected,
            _ if uri == "about:blank" => ProblemType::Blank,
            _ => ProblemType::Other(uri.to_owned()),
        }
    }
}

impl Problem {
    /// The media type of such a body.
    pub const CONTENT_TYPE: &str = "application/problem+json";

    /// Returns a problem with the status and the title of its type.
    #[must_use]
    pub fn new(kind: ProblemType) -> Problem {
        Problem {
            status: kind.status(),
            title: kind.title().map(str::to_owned),
            kind,
            detail: None,
            instance: None,
            violated_policies: Vec::new(),
            class: None,
        }
    }

    /// Sets the names of the policies that have refused.
    #[must_use]
    pub fn violating<N: Into<String>>(self, policies: impl IntoIterator<Item = N>) -> Problem {
        let violated_policies = policies.into_iter().map(Into::into).collect();
        Problem { violated_policies, ..self }
    }

    /// Sets the explanation of this problem.
    #[must_use]
    pub fn explained(self, detail: impl Into<String>) -> Problem {
        Problem { detail: Some(detail.into()), ..self }
    }

    /// Returns the body. A list of policies that is empty, and members that are `None`, are left out.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let members = Members {
            kind: self.kind.as_str(),
            status: self.status.map(|status| status.as_u16()),
            title: self.title.as_deref(),
            detail: self.detail.as_deref(),
            instance: self.instance.as_deref(),
            violated_policies: &self.violated_policies,
            class: self.class.as_deref(),
        };
        let mut body = Problem::buffer();
        // Texts and numbers are never refused, and memory takes all that is written.
        let _ = serde_json::to_writer(&mut body, &members);
        body
    }

    /// Returns a buffer with space for most bodies, so that it is allocated once.
    fn buffer() -> Vec<u8> {
        Vec::with_capacity(384)
    }

    /// Parses a body, or returns `None` if it is not an object in JSON, or longer than
    /// [`MAX_PROBLEM_BYTES`].
    ///
    /// A member of a wrong type is ignored, as RFC 9457 requires (section 3.1), and so are members that
    /// are not known. Never panics.
    #[must_use]
    pub fn from_json(body: &[u8]) -> Option<Problem> {
        if body.len() > MAX_PROBLEM_BYTES {
            return None;
        }
        let mut members: Map<String, Value> = serde_json::from_slice(body).ok()?;
        let kind = members.get("type").and_then(Value::as_str).map(ProblemType::from);
        let status = members.get("status").and_then(Value::as_u64);
        let status = status.and_then(|status| u16::try_from(status).ok());
        let mut text = |name: &str| match members.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Some(Problem {
            kind: kind.unwrap_or(ProblemType::Blank),
            status: status.and_then(|status| StatusCode::from_u16(status).ok()),
            title: text("title"),
            detail: text("detail"),
            instance: text("instance"),
            class: text("class"),
            violated_policies: match members.remove("violated-policies") {
                Some(Value::Array(names)) => names.into_iter().filter_map(name).collect(),
                _ => Vec::new(),
            },
        })
    }
}

/// The members of a body, without those that are not there.
#[derive(Serialize)]
struct Members<'p> {
    #[serde(rename = "type")]
    kind: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'p str>,
    #[serde(rename = "violated-policies", skip_serializing_if = "<[_]>::is_empty")]
    violated_policies: &'p [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'p str>,
}

fn name(value: Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name),
        _ => None,
    }
}
