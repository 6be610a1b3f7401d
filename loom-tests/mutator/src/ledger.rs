//! Hashes of what an earlier result depends on: `ci/loom.sh` runs a mutant, or a model that takes long, again
//! when its hash is another than in its ledger.
//!
//! The hash of a mutant covers the files it changes, as changed; the hash of a model covers the modules of the
//! engine with a `// MODEL:` comment that names it. Both cover the models with the helpers in their files, the modules of
//! `loom-tests/src` that these use, and the version and the profile of loom. Comments, white space and unit tests
//! do not count.
//!
//! Models run other code too, and a change there could break a model, or let a mutant escape. `ci/loom.sh --all` is for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use hmac_sha256::Hash;
use regex::Regex;

use crate::table::{Table, text_of};

/// The folders with the code that models run.
const SOURCES: [&str; 2] = ["src", "crates/flow/src"];

/// The modules that all models use, by `loom-tests/src/lib.rs`.
const SHARED_BY_ALL: [&str; 5] = ["clock", "explore", "ledger", "lib", "subject"];

pub(crate) fn print_mutants(table: &Table) -> Result<(), String> {
    let models = Models::read()?;
    for (name, mutant) in table {
        let mut texts = mutant.applied().map_err(|error| format!("{name}: {error}"))?;
        let mut files = BTreeSet::new();
        for model in &mutant.models {
            let file = models.file_of.get(model);
            files.insert(file.ok_or_else(|| format!("{name}: no model is called {model}"))?);
        }
        if files.is_empty() {
            return Err(format!("{name}: no model is to catch it"));
        }
        for file in files {
            let Models { texts: all, shared, .. } = &models;
            texts.push((file.clone(), without_other_models(&all[file], &mutant.models)));
            texts.push(("shared".to_owned(), shared[file].clone()));
        }
        println!("{name} {} {}", hash_of(&texts), mutant.models.join(","));
    }
    Ok(())
}

/// Prints `FILE MODEL HASH` of each model. One that no source names depends on all of them.
pub(crate) fn print_models() -> Result<(), String> {
    let models = Models::read()?;
    let modules = modules_of_sources()?;
    for (model, file) in &models.file_of {
        let is_run = |module: &&Module| module.models.contains(model);
        let all = !modules.iter().any(|module| is_run(&module));
        let run = modules.iter().filter(|module| all || module.name == "sync" || is_run(module));
        let mut texts: Vec<_> = run.map(|it| (it.name.clone(), it.hash.clone())).collect();
        let only = std::slice::from_ref(model);
        texts.push((file.clone(), without_other_models(&models.texts[file], only)));
        texts.push(("shared".to_owned(), models.shared[file].clone()));
        println!("{file} {model} {}", hash_of(&texts));
    }
    Ok(())
}

/// A module at the root of a crate, with all below it.
struct Module {
    name: String,
    hash: String,
    /// The names in its comments, of which some are models.
    models: BTreeSet<String>,
}

fn modules_of_sources() -> Result<Vec<Module>, String> {
    let name = regex("`([a-z0-9_]+)`")?;
    let mut texts: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for root in SOURCES.map(Path::new) {
        for path in rust_files(root)? {
            let below = path.strip_prefix(root).unwrap_or(&path).with_extension("");
            let module = below.components().next();
            let module =
                module.map_or_else(String::new, |it| it.as_os_str().to_string_lossy().into());
            texts.entry(module).or_default().push((path.display().to_string(), text_of(&path)?));
        }
    }
    let module = |(module, texts): (String, Vec<(String, String)>)| Module {
        name: module,
        hash: hash_of(&texts),
        models: texts
            .iter()
            .flat_map(|(_, text)| name.captures_iter(text))
            .map(|found| found[1].to_owned())
            .collect(),
    };
    Ok(texts.into_iter().map(module).collect())
}

/// The files of models.
struct Models {
    texts: BTreeMap<String, String>,
    /// For each file, a hash of the modules that it uses, and of loom.
    shared: BTreeMap<String, String>,
    /// The file of each model.
    file_of: BTreeMap<String, String>,
}

impl Models {
    fn read() -> Result<Self, String> {
        let texts = by_stem(Path::new("loom-tests/tests"))?;
        let modules = Shared::read()?;
        let hash = |(file, text): (&String, &String)| (file.clone(), modules.hash_for(text));
        let shared = texts.iter().map(hash).collect();
        let name = regex(r"fn ([a-z0-9_]+)\(\)")?;
        let mut file_of = BTreeMap::new();
        for (file, text) in &texts {
            for found in name.captures_iter(text) {
                file_of.insert(found[1].to_owned(), file.clone());
            }
        }
        Ok(Models { texts, shared, file_of })
    }
}

/// Modules and settings that files of models have in common.
struct Shared {
    /// The modules of `loom-tests/src` by their names, with the pattern of a use of each.
    modules: BTreeMap<String, (String, Regex)>,
    loom: String,
}

impl Shared {
    fn read() -> Result<Self, String> {
        let mut texts = by_stem(Path::new("loom-tests/src"))?;
        // `loom-tests/src/reference.rs` includes them.
        for path in ["tests/support/reference.rs", "tests/windows/reference.rs"] {
            texts.entry("reference".to_owned()).or_default().push_str(&text_of(Path::new(path))?);
        }
        // A module more changes nothing for who does not use it.
        let declarations = regex(r"(?m)^(#\[cfg\(.*\)\]\n)?(pub )?mod \w+;\n")?;
        if let Some(lib) = texts.get_mut("lib") {
            *lib = declarations.replace_all(lib, "").into_owned();
        }
        let mut modules = BTreeMap::new();
        for (name, text) in texts {
            let usage = regex(&format!(r"(?m)^\s*[^/\s].*\b({name}::|::{name}\b)"))?;
            modules.insert(name, (text, usage));
        }
        let paragraph_with = |text: String, start: &str| {
            text.split("\n\n").find(|part| part.contains(start)).unwrap_or_default().to_owned()
        };
        let loom = paragraph_with(text_of(Path::new("Cargo.lock"))?, "name = \"loom\"\n")
            + &paragraph_with(text_of(Path::new("Cargo.toml"))?, "[profile.loom]\n");
        Ok(Shared { modules, loom })
    }

    /// The hash of the modules that a file of models uses, and those that these use.
    fn hash_for(&self, text: &str) -> String {
        let mut texts = vec![("loom".to_owned(), self.loom.clone())];
        let mut unused: Vec<&String> = self.modules.keys().collect();
        loop {
            let is_used = |name: &str| {
                let usage = &self.modules[name].1;
                SHARED_BY_ALL.contains(&name)
                    // The crate's own page names all of them.
                    || usage.is_match(text)
                    || texts.iter().any(|(user, text)| user != "lib" && usage.is_match(text))
            };
            let (used, rest): (Vec<_>, Vec<_>) = unused.into_iter().partition(|name| is_used(name));
            unused = rest;
            if used.is_empty() {
                return hash_of(&texts);
            }
            texts.extend(used.iter().map(|name| ((*name).clone(), self.modules[*name].0.clone())));
        }
    }
}

/// The text of a file of models with only these of them.
fn without_other_models(text: &str, models: &[String]) -> String {
    let mut parts = text.split("#[test]");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (body, after) = part.split_once("\n}\n").unwrap_or((part, ""));
        if models.iter().any(|model| body.contains(&format!("fn {model}()"))) {
            rest += body;
        }
        rest += after;
    }
    rest
}

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| error.to_string())
}

/// The texts of the files in a folder by their names without `.rs`.
fn by_stem(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut texts = BTreeMap::new();
    for path in rust_files(folder)? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        texts.insert(stem, text_of(&path)?);
    }
    Ok(texts)
}

/// The files below a folder in order.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn hash_of(texts: &[(String, String)]) -> String {
    let mut hasher = Hash::new();
    for (name, text) in texts {
        hasher.update(name);
        hasher.update([0]);
        for line in code_of(text) {
            hasher.update(line);
            hasher.update(" ");
        }
        hasher.update([0]);
    }
    hasher.finalize()[..8].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The words of code: no comments, and no unit tests, which are at the end of a file.
fn code_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test") && !line.starts_with("#[cfg(all(test"))
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(str::split_whitespace)
}
