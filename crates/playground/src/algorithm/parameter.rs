//! The parameters of algorithms, and the values that they allow.

use serde_json::Value;

use crate::bounds;
use crate::wire::{ParameterForm, ParameterKind};

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) id: &'static str,
    label: &'static str,
    unit: &'static str,
    kind: ParameterKind,
    minimum: f64,
    maximum: f64,
    default: f64,
    help: &'static str,
}

impl Parameter {
    const fn permits(
        id: &'static str,
        label: &'static str,
        default: f64,
        help: &'static str,
    ) -> Self {
        let kind = ParameterKind::Integer;
        Parameter {
            id,
            label,
            unit: "permits",
            kind,
            minimum: 1.0,
            maximum: bounds::LIMIT,
            default,
            help,
        }
    }

    const fn seconds(
        id: &'static str,
        label: &'static str,
        default: f64,
        help: &'static str,
    ) -> Self {
        let kind = ParameterKind::Duration;
        Parameter {
            id,
            label,
            unit: "seconds",
            kind,
            minimum: 0.01,
            maximum: bounds::LONGEST_PERIOD,
            default,
            help,
        }
    }

    /// Returns the same with another default.
    pub(super) const fn by_default(self, default: f64) -> Self {
        Parameter { default, ..self }
    }

    /// Returns the same with another range.
    const fn between(self, minimum: f64, maximum: f64) -> Self {
        Parameter { minimum, maximum, ..self }
    }

    /// Returns the smallest value.
    #[cfg(test)]
    pub(super) fn minimum(&self) -> f64 {
        self.minimum
    }

    /// Returns the largest value.
    #[cfg(test)]
    pub(super) fn maximum(&self) -> f64 {
        self.maximum
    }

    /// Returns the value if a set-up has none.
    pub(crate) fn default(&self) -> f64 {
        self.default
    }

    pub(crate) fn kind(&self) -> ParameterKind {
        self.kind
    }

    /// Returns the number of a value, or a text that names the value and the allowed range.
    pub(crate) fn check(&self, value: &Value) -> Result<f64, String> {
        let number = value.as_f64().filter(|number| self.allows(*number));
        number.ok_or_else(|| {
            let Parameter { id, minimum, maximum, .. } = self;
            let number = match self.kind {
                ParameterKind::Integer => "a whole number",
                ParameterKind::Duration => "a number of seconds",
            };
            let mut shown = value.to_string();
            if let Some((end, _)) = shown.char_indices().nth(40) {
                shown.truncate(end);
                shown.push('…');
            }
            format!("{id} is {shown}: must be {number} from {minimum} to {maximum}")
        })
    }

    fn allows(&self, number: f64) -> bool {
        let is_whole = self.kind != ParameterKind::Integer || number.fract() == 0.0;
        is_whole && (self.minimum..=self.maximum).contains(&number)
    }

    pub(super) fn form(&self) -> ParameterForm {
        let Parameter { id, label, unit, kind, minimum, maximum, default, help } = *self;
        ParameterForm {
            id: id.to_owned(),
            label: label.to_owned(),
            unit: unit.to_owned(),
            kind,
            minimum,
            maximum,
            default,
            help: help.to_owned(),
        }
    }
}

pub(super) const BURST: Parameter = Parameter::permits(
    "burst",
    "Burst",
    5.0,
    "The most permits that can be granted at one instant.",
);
pub(super) const SHARED_BURST: Parameter = BURST.by_default(8.0).between(8.0, bounds::LIMIT);
pub(super) const TENANTS: Parameter = Parameter {
    unit: "keys",
    ..Parameter::permits(
        "tenants",
        "Tenants",
        2.0,
        "The most keys that have a share at a time. Others only borrow.",
    )
    .between(2.0, 4.0)
};
pub(super) const REFILL: Parameter =
    Parameter::permits("permits", "Permits", 1.0, "The tokens that are earned in each period.");
pub(super) const LEAK: Parameter =
    Parameter::permits("permits", "Permits", 1.0, "The permits that leave in each period.");
pub(super) const STEP: Parameter =
    Parameter::permits("permits", "Permits", 5.0, "The tokens that each period brings at its end.");
pub(super) const PERIOD: Parameter =
    Parameter::seconds("period", "Period", 1.0, "The length of a period.");
pub(super) const SIZE: Parameter =
    Parameter::permits("size", "Size", 4.0, "The most permits in the queue.")
        .between(1.0, bounds::REMEMBERED);
pub(super) const INTERVAL: Parameter =
    Parameter::seconds("interval", "Interval", 1.0, "The time between two permits, on average.");
pub(super) const TOLERANCE: Parameter = Parameter::seconds(
    "tolerance",
    "Tolerance",
    4.0,
    "The longest time by which a permit may come early: 1 + tolerance / interval permits fit at one instant.",
)
.between(0.0, bounds::LONGEST_PERIOD);
pub(super) const LIMIT: Parameter =
    Parameter::permits("limit", "Limit", 5.0, "The most permits in a window.");
pub(super) const LOG_LIMIT: Parameter = LIMIT.between(1.0, bounds::REMEMBERED);
pub(super) const WINDOW: Parameter =
    Parameter::seconds("window", "Window", 10.0, "The length of the window.");
pub(super) const SLOTS: Parameter = Parameter {
    unit: "slots",
    ..Parameter::permits(
        "slots",
        "Slots",
        10.0,
        "The number of parts of the window: more are finer.",
    )
    .between(1.0, 60.0)
};
pub(super) const SHORT_LIMIT: Parameter =
    Parameter::permits("short_limit", "Short limit", 3.0, "The most permits in a short window.");
pub(super) const SHORT_WINDOW: Parameter =
    Parameter::seconds("short_window", "Short window", 1.0, "The length of the short window.");
pub(super) const LONG_LIMIT: Parameter =
    Parameter::permits("long_limit", "Long limit", 10.0, "The most permits in a long window.");
pub(super) const LONG_WINDOW: Parameter =
    Parameter::seconds("long_window", "Long window", 10.0, "The length of the long window.");
pub(super) const IN_FLIGHT: Parameter =
    Parameter::permits("limit", "Limit", 3.0, "The most permits in flight at a time.")
        .between(1.0, bounds::IN_FLIGHT);
