//! The amounts of a budget by the days of the week, as they are written.

use toml::Spanned;

use super::Whole;

/// The amounts of single days of the week.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { saturday = 100, sunday = 0 }")]
pub(crate) struct RawDays {
    monday: Option<Spanned<Whole>>,
    tuesday: Option<Spanned<Whole>>,
    wednesday: Option<Spanned<Whole>>,
    thursday: Option<Spanned<Whole>>,
    friday: Option<Spanned<Whole>>,
    saturday: Option<Spanned<Whole>>,
    sunday: Option<Spanned<Whole>>,
}

impl RawDays {
    /// Returns each day's name and amount, from Monday on.
    pub(crate) fn days(&self) -> [(&'static str, Option<&Spanned<Whole>>); 7] {
        [
            ("on.monday", self.monday.as_ref()),
            ("on.tuesday", self.tuesday.as_ref()),
            ("on.wednesday", self.wednesday.as_ref()),
            ("on.thursday", self.thursday.as_ref()),
            ("on.friday", self.friday.as_ref()),
            ("on.saturday", self.saturday.as_ref()),
            ("on.sunday", self.sunday.as_ref()),
        ]
    }
}
