//! Bodies of refusals by a policy, whose first members are always the same.

use std::fmt::Display;
use std::sync::LazyLock;

use serde::Serializer as _;
use serde_json::Serializer;

use super::{Problem, ProblemType};

static QUOTA_EXCEEDED: LazyLock<Vec<u8>> =
    LazyLock::new(|| without_end(&Problem::new(ProblemType::QuotaExceeded)));

static REDUCED_CAPACITY: LazyLock<Vec<u8>> =
    LazyLock::new(|| without_end(&Problem::new(ProblemType::TemporaryReducedCapacity)));

/// Returns a body to which members can be added.
fn without_end(problem: &Problem) -> Vec<u8> {
    let mut body = problem.to_json();
    body.pop();
    body
}

/// Returns the body of `Problem::new(kind).explained(detail).violating([policy])`, with a class if there is one, without making
/// that problem: allocates once for most bodies.
pub(crate) fn violation(
    kind: ProblemType,
    detail: &impl Display,
    policy: &str,
    class: Option<&str>,
) -> Vec<u8> {
    let opening = match kind {
        ProblemType::QuotaExceeded => &*QUOTA_EXCEEDED,
        ProblemType::TemporaryReducedCapacity => &*REDUCED_CAPACITY,
        other => {
            let problem = Problem::new(other).explained(detail.to_string()).violating([policy]);
            return Problem { class: class.map(str::to_owned), ..problem }.to_json();
        }
    };
    let mut body = Problem::buffer();
    body.extend_from_slice(opening);
    body.extend_from_slice(br#","detail":"#);
    // Texts are never refused, and memory takes all that is written.
    let _ = Serializer::new(&mut body).collect_str(detail);
    body.extend_from_slice(br#","violated-policies":["#);
    let _ = Serializer::new(&mut body).serialize_str(policy);
    body.push(b']');
    if let Some(class) = class {
        body.extend_from_slice(br#","class":"#);
        let _ = Serializer::new(&mut body).serialize_str(class);
    }
    body.push(b'}');
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_the_one_of_the_same_problem() {
        let kinds = [
            ProblemType::QuotaExceeded,
            ProblemType::TemporaryReducedCapacity,
            ProblemType::AbnormalUsageDetected,
            ProblemType::Blank,
            ProblemType::Other("https://a.example/\"".to_owned()),
        ];
        let texts = ["", "try again in 2s", "a \"policy\" \\ of\n\u{1}ü", &"long ".repeat(200)];
        for kind in kinds {
            for (detail, policy) in texts.iter().zip(texts.iter().rev()) {
                for class in [None, Some("a \"class\"")] {
                    let body = violation(kind.clone(), detail, policy, class);
                    let problem =
                        Problem::new(kind.clone()).explained(*detail).violating([*policy]);
                    let problem = Problem { class: class.map(str::to_owned), ..problem };
                    assert_eq!(str::from_utf8(&body), str::from_utf8(&problem.to_json()));
                    assert_eq!(Problem::from_json(&body), Some(problem));
                }
            }
        }
    }
}
