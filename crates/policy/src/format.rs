//! The formats of policy files.

use std::path::Path;

/// A format of policy files. All have the same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML 1.0, of `.toml`.
    Toml,
    /// YAML 1.2, of `.yaml` and `.yml`.
    Yaml,
    /// JSON, of `.json`.
    Json,
}

impl Format {
    /// Returns the format of a file by the end of its name: TOML, unless that is `.yaml`, `.yml` or
    /// `.json`.
    #[must_use]
    pub fn of_path(path: &Path) -> Format {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("yaml" | "yml") => Format::Yaml,
            Some("json") => Format::Json,
            _ => Format::Toml,
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Format::Toml => "TOML",
            Format::Yaml => "YAML",
            Format::Json => "JSON",
        })
    }
}
