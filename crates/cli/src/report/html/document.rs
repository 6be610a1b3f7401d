//! A page: the layout, and the permission for just the style and the script that it comes with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac_sha256::Hash;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::ink;

/// The layout of the pages, and their colours beside those of the plots.
const STYLE: &str = include_str!("style.css");

/// A page without its body.
pub(super) struct Document {
    pub(super) title: String,
    /// The script that the page runs, or nothing.
    pub(super) script: &'static str,
}

impl Document {
    /// Returns the page with this body.
    pub(super) fn html(&self, body: &Markup) -> String {
        let style = format!(
            "{STYLE}@media screen and (prefers-color-scheme: dark) {{\n{}}}\n",
            ink::dark_rules()
        );
        let has_script = !self.script.is_empty();
        let scripts = if has_script {
            format!("script-src 'sha256-{}'; ", hash(self.script))
        } else {
            String::new()
        };
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; {scripts}base-uri 'none'; form-action 'none'",
            hash(&style)
        );
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content={ "sluicegate " (env!("CARGO_PKG_VERSION")) };
                    title { (self.title) }
                    style { (PreEscaped(style)) }
                }
                body {
                    (body)
                    footer { p {
                        "Made by sluicegate " (env!("CARGO_PKG_VERSION")) "; nothing is loaded"
                        @if !has_script { ", and no script runs" } "."
                    } }
                    @if has_script { script { (PreEscaped(self.script)) } }
                }
            }
        }
        .into_string()
    }
}

fn hash(text: &str) -> String {
    STANDARD.encode(Hash::hash(text.as_bytes()))
}
