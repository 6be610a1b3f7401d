//! A mistake at a place of the text, before it is shown.

use std::ops::Range;

/// A problem at a place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) span: Range<usize>,
    /// The field concerned; empty if there is none.
    pub(crate) field: String,
    /// The field, and its mistake.
    pub(crate) title: String,
    /// The value that is expected there.
    pub(crate) label: String,
    /// Another place that is related to it, and the relation.
    pub(crate) context: Option<(Range<usize>, String)>,
    /// The name that was probably meant.
    pub(crate) meant: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        span: Range<usize>,
        field: impl Into<String>,
        title: impl Into<String>,
        label: impl Into<String>,
    ) -> Problem {
        Problem {
            span,
            field: field.into(),
            title: escaped(&title.into()),
            label: escaped(&label.into()),
            context: None,
            meant: None,
        }
    }

    pub(crate) fn with_context(self, span: Range<usize>, label: impl Into<String>) -> Problem {
        Problem { context: Some((span, label.into())), ..self }
    }

    /// Adds the one of `names` that is nearest to `given`, if one is near.
    pub(crate) fn did_you_mean<'a>(
        self,
        given: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Problem {
        let names: Vec<&str> = names.into_iter().collect();
        let meant = nearest(given, names.iter().copied()).or_else(|| synonym(given, &names));
        Problem { meant: meant.map(str::to_owned), ..self }
    }
}

/// Words of other programs, and those of policies that stand for them, the best first.
const SYNONYMS: [(&str, &[&str]); 45] = [
    ("burst", &["limit"]),
    ("capacity", &["limit"]),
    ("burstcapacity", &["limit"]),
    ("max", &["limit"]),
    ("maxrequests", &["limit"]),
    ("requests", &["limit"]),
    ("points", &["limit"]),
    ("quota", &["limit"]),
    ("count", &["limit"]),
    ("tokens", &["limit"]),
    ("replenishrate", &["rate"]),
    ("refillrate", &["rate"]),
    ("average", &["rate"]),
    ("rps", &["rate"]),
    ("window", &["interval"]),
    ("windowms", &["interval"]),
    ("windowsize", &["interval"]),
    ("period", &["interval"]),
    ("duration", &["interval"]),
    ("ttl", &["interval"]),
    ("unit", &["interval"]),
    ("permits", &["amount", "limit"]),
    ("maxretry", &["offences", "penalty"]),
    ("findtime", &["within", "penalty"]),
    ("bantime", &["refuse_for", "penalty"]),
    ("algorithm", &["policy"]),
    ("strategy", &["policy"]),
    ("kind", &["policy"]),
    ("type", &["policy"]),
    ("weight", &["cost"]),
    ("priority", &["classes", "reserve"]),
    ("timezone", &["zone"]),
    ("tz", &["zone"]),
    ("dryrun", &["shadow"]),
    ("allowlist", &["except"]),
    ("whitelist", &["except"]),
    ("ip", &["client"]),
    ("address", &["client"]),
    ("remoteaddr", &["client"]),
    ("global", &["all"]),
    ("url", &["path"]),
    ("endpoint", &["path"]),
    ("useragent", &["agent"]),
    ("sat", &["saturday"]),
    ("sun", &["sunday"]),
];

/// Returns the name that stands for a word of another program.
pub(crate) fn synonym<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let given: String =
        given.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let (_, meant) = SYNONYMS.iter().find(|(word, _)| *word == given)?;
    meant.iter().find_map(|meant| names.iter().copied().find(|name| name == meant))
}

/// Returns the name that is so near to the given one that it was probably meant.
fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance of long texts takes long, and no name is longer.
    if given.len() > 40 {
        return None;
    }
    let given = given.to_lowercase().replace('-', "_");
    let most = given.chars().count().div_ceil(3);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&given, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Escapes what a terminal might obey, and marks that reorder text, such as a name may have.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let invisible = matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        );
        if c.is_control() || invisible {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_near_is_offered_and_one_that_is_not_is_not() {
        let names = ["limit", "rate", "refill"];
        assert_eq!(nearest("limt", names), Some("limit"));
        assert_eq!(nearest("Limit", names), Some("limit"));
        assert_eq!(nearest("erfill", names), Some("refill"));
        assert_eq!(nearest("burst", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"limit".repeat(1_000), names), None);
    }

    #[test]
    fn a_word_of_another_program_is_answered_with_the_name_here() {
        let names = ["limit", "interval", "penalty", "client"];
        for (given, meant) in [
            ("burst", Some("limit")),
            ("windowMs", Some("interval")),
            ("max_requests", Some("limit")),
            ("maxretry", Some("penalty")),
            ("ip", Some("client")),
            ("tz", None),
        ] {
            assert_eq!(synonym(given, &names), meant, "{given}");
        }
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(
            escaped("a\x1b[31m\u{9b}\u{202e}ü\u{61c}"),
            "a\\u{1b}[31m\\u{9b}\\u{202e}ü\\u{61c}"
        );
    }
}
