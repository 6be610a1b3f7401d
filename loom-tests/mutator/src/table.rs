//! The tables, and the text of a mutant.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;

/// The mutants of some tables by their names.
pub(crate) type Table = BTreeMap<String, Mutant>;

/// A change of the sources that breaks them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// The fault, for readers.
    #[serde(rename = "sentence")]
    _sentence: String,
    /// The models that must fail, each of them.
    #[serde(default)]
    pub(crate) models: Vec<String>,
    /// The file of the edits that name none.
    file: String,
    /// The only edit, in most mutants.
    find: Option<String>,
    replace: Option<String>,
    /// Two and more.
    #[serde(default)]
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: Option<String>,
    find: String,
    replace: String,
}

/// Reads a file, or all files of a folder.
pub(crate) fn read(path: &str) -> Result<Table, String> {
    let mut table = Table::new();
    for file in toml_files(Path::new(path))? {
        let part: Table = toml::from_str(&text_of(&file)?)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        for (name, mutant) in part {
            if table.insert(name.clone(), mutant).is_some() {
                return Err(format!("two mutants are called {name}"));
            }
        }
    }
    if table.is_empty() { Err(format!("no mutants in {path}")) } else { Ok(table) }
}

pub(crate) fn table_with<'t>(table: &'t Table, name: &str) -> Result<&'t Mutant, String> {
    table.get(name).ok_or_else(|| format!("no mutant is called {name}"))
}

fn toml_files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = path.read_dir().map_err(|error| format!("{}: {error}", path.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    Ok(files)
}

pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

impl Mutant {
    /// The files that it changes, as they are.
    pub(crate) fn sources(&self) -> Result<Vec<(String, String)>, String> {
        let mut files = vec![self.file.clone()];
        files.extend(self.edits.iter().filter_map(|edit| edit.file.clone()));
        files.sort();
        files.dedup();
        files.into_iter().map(|file| text_of(Path::new(&file)).map(|text| (file, text))).collect()
    }

    /// The same files, with the change.
    pub(crate) fn applied(&self) -> Result<Vec<(String, String)>, String> {
        let mut edits: Vec<(&str, &str, &str)> = Vec::new();
        match (&self.find, &self.replace) {
            (Some(find), Some(replace)) => edits.push((&self.file, find, replace)),
            (None, None) if !self.edits.is_empty() => {}
            _ => return Err("it has `find` and `replace`, or `edits`".to_owned()),
        }
        for Edit { file, find, replace } in &self.edits {
            edits.push((file.as_ref().unwrap_or(&self.file), find, replace));
        }
        let mut files = self.sources()?;
        for (file, text) in &mut files {
            let mut places = Vec::new();
            for (_, find, replace) in edits.iter().filter(|edit| edit.0 == file) {
                let place = place_of(text, find).map_err(|error| format!("{file} {error}"))?;
                places.push((place, replace.trim()));
            }
            // From the end, so that the places before stay where they are.
            places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
            if places.windows(2).any(|pair| pair[1].0.end > pair[0].0.start) {
                return Err(format!("two of its edits in {file} overlap"));
            }
            for (place, replace) in places {
                text.replace_range(place, replace);
            }
        }
        Ok(files)
    }
}

/// The only place of `find` in `text`. White space is any white space, and may have lines of comments in it.
fn place_of(text: &str, find: &str) -> Result<Range<usize>, String> {
    let find = find.trim();
    let words: Vec<String> = find.split_whitespace().map(regex::escape).collect();
    let boundary = |end: Option<char>| {
        if end.is_some_and(|end| end.is_alphanumeric() || end == '_') { r"\b" } else { "" }
    };
    let pattern = [
        boundary(find.chars().next()),
        &words.join(r"\s+(?://.*\s+)*"),
        boundary(find.chars().last()),
    ];
    let pattern = Regex::new(&pattern.concat()).map_err(|error| error.to_string())?;
    let mut places = pattern.find_iter(text);
    match (places.next(), places.count()) {
        (None, _) => Err(format!("does not have the text: {find}")),
        (Some(place), 0) => Ok(place.range()),
        (Some(_), more) => Err(format!("has the text {} times: {find}", more + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = b(c);\n    // Why.\n    d = e;\nab = b(c);\n";

    #[test]
    fn text_is_found_whatever_white_space_and_comments_are_in_it() {
        assert_eq!(&TEXT[place_of(TEXT, "b(c); d = e;").unwrap()], &TEXT[4..32]);
    }

    #[test]
    fn text_that_stands_nowhere_or_twice_is_an_error() {
        assert!(place_of(TEXT, "f = e").unwrap_err().starts_with("does not have"));
        assert!(place_of(TEXT, "b(c)").unwrap_err().starts_with("has the text 2 times"));
    }

    #[test]
    fn a_part_of_a_word_is_not_found() {
        assert_eq!(place_of(TEXT, "b = b(c)").unwrap_err(), "does not have the text: b = b(c)");
        assert_eq!(place_of(TEXT, "ab = b(c)").unwrap(), 33..42);
    }
}
