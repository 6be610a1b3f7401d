//! Values with `*`.

/// A value with `*`, each of which stands for any text, an empty one too.
#[derive(Debug)]
pub(super) struct Pattern {
    text: String,
    is_shared: bool,
}

impl Pattern {
    pub(super) fn new(text: &str, is_shared: bool) -> Pattern {
        Pattern { text: text.to_owned(), is_shared }
    }

    /// Returns the pattern as the file has it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if all values that match have one count.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns true if `value` has the pattern's texts between `*` one after the other: the first at its
    /// beginning, the last at its end, and no two of them share a character.
    pub(super) fn matches(&self, value: &str) -> bool {
        let Some((first, rest)) = self.text.split_once('*') else { return self.text == value };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let Some(inner) = value.strip_prefix(first) else { return false };
        let Some(mut inner) = inner.strip_suffix(last) else { return false };
        for part in middle.split('*') {
            let Some((_, after)) = inner.split_once(part) else { return false };
            inner = after;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matches by trying every length for each `*`.
    fn slow(pattern: &[u8], value: &[u8]) -> bool {
        match pattern.split_first() {
            None => value.is_empty(),
            Some((b'*', rest)) => (0..=value.len()).any(|from| slow(rest, &value[from..])),
            Some((own, rest)) => value.first() == Some(own) && slow(rest, &value[1..]),
        }
    }

    fn texts(letters: &[char], longest: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..longest {
            let to = all.len();
            for index in from..to {
                for letter in letters {
                    all.push(format!("{}{letter}", all[index]));
                }
            }
            from = to;
        }
        all
    }

    #[test]
    fn a_pattern_matches_what_a_slow_search_matches() {
        let values = texts(&['a', 'b'], 5);
        for text in texts(&['a', 'b', '*'], 5) {
            let pattern = Pattern::new(&text, false);
            for value in &values {
                let expected = slow(text.as_bytes(), value.as_bytes());
                assert_eq!(pattern.matches(value), expected, "{text} {value}");
            }
        }
    }
}
