//! Networks by name, such as those that crawlers publish.

use std::path::Path;

use serde_json::Value;
use sluicegate_policy::{Networks, Overrides};

/// The names of networks.
#[derive(Debug, Default)]
pub struct Crawlers(Overrides<String>);

impl Crawlers {
    /// Takes the files that were read, with their paths.
    ///
    /// A file is JSON, of which all texts that are networks have the name of the file: so crawlers and clouds publish theirs.
    /// Or it has a name and its networks on each line.
    ///
    /// # Errors
    ///
    /// The place of what is not a network, or the file that has none.
    pub fn of_files<'a>(
        files: impl IntoIterator<Item = (&'a Path, String)>,
    ) -> Result<Crawlers, String> {
        let mut all = Vec::new();
        for (path, text) in files {
            let before = all.len();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => of_json(&value, &name, &mut all),
                Err(_) => of_lines(&text, &mut all)
                    .map_err(|(line, what)| format!("{}:{line}: {what}", path.display()))?,
            }
            if all.len() == before {
                return Err(format!("{}: has no network, such as 192.0.2.0/24", path.display()));
            }
        }
        Ok(Crawlers(Overrides::new(all, true)))
    }

    /// Returns the name of the most specific network that an address of a key is in.
    #[must_use]
    pub fn name_of(&self, key: &str) -> Option<&str> {
        key.split(' ').find_map(|part| self.0.of(part.as_bytes())).map(String::as_str)
    }
}

fn is_network(text: &str) -> bool {
    Networks::new([text]).is_ok()
}

fn of_json(value: &Value, name: &str, all: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if is_network(text) => all.push((text.clone(), name.to_owned())),
        Value::Array(values) => values.iter().for_each(|value| of_json(value, name, all)),
        Value::Object(values) => values.values().for_each(|value| of_json(value, name, all)),
        _ => {}
    }
}

fn of_lines(text: &str, all: &mut Vec<(String, String)>) -> Result<(), (usize, String)> {
    for (place, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let mut count = 0;
        for word in words {
            if !is_network(word) {
                return Err((
                    place + 1,
                    format!("`{word}` is not a network, such as 192.0.2.0/24"),
                ));
            }
            all.push((word.to_owned(), name.to_owned()));
            count += 1;
        }
        if count == 0 {
            return Err((place + 1, "expected a name, and its networks after it".to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crawlers(path: &str, text: &str) -> Result<Crawlers, String> {
        Crawlers::of_files([(Path::new(path), text.to_owned())])
    }

    #[test]
    fn networks_are_named_by_lines_or_by_the_file() {
        let lines =
            crawlers("x", "# ours\nmonitor 10.0.0.0/8 2001:db8::/32\noffice 10.1.0.0/16\n\n")
                .unwrap();
        let google = r#"{"creationTime": "2026-01-01T00:00:00", "prefixes": [{"ipv6Prefix": "2001:4860:4801:10::/64"},
            {"ipv4Prefix": "66.249.64.0/27"}, {"ipv4Prefix": "34.100.182.96/32"}]}"#;
        let json = crawlers("/etc/googlebot.json", google).unwrap();
        for (crawlers, key, name) in [
            (&lines, "10.2.0.1", Some("monitor")),
            (&lines, "10.1.0.1 GET", Some("office")),
            (&lines, "2001:db8:1::/64", Some("monitor")),
            (&lines, "192.0.2.1", None),
            (&json, "66.249.64.5", Some("googlebot")),
            (&json, "34.100.182.96", Some("googlebot")),
            (&json, "2001:4860:4801:10::/64", Some("googlebot")),
            (&json, "66.249.65.5", None),
        ] {
            assert_eq!(crawlers.name_of(key), name, "{key}");
        }
    }

    #[test]
    fn what_is_no_list_of_networks_is_told() {
        for (text, said) in [
            ("a 10.0.0.0/33", "x:1: `10.0.0.0/33` is not a network"),
            ("a 10.0.0.0/8\nb\n", "x:2: expected a name"),
            ("", "x: has no network"),
            ("{}", "x: has no network"),
        ] {
            let error = crawlers("x", text).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
