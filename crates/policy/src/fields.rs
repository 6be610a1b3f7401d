//! The fields of a policy file: the one description of them, from which the checks and the JSON
//! Schema are made.

mod bucket;
mod common;
mod penalty;
mod redis;
mod requests;
mod tables;

use crate::tree::Value;

pub(crate) use self::tables::{LEVEL, LIMITER, TOP};

/// The longest name of a limiter, in characters.
pub(crate) const MAX_NAME: usize = 200;

/// The largest number that is read as it is written.
const MAX_SIZE: u64 = u64::MAX;

const fn needed(name: &'static str, form: Form, about: &'static str) -> Field {
    Field { name, form, is_needed: true, about }
}

const fn field(name: &'static str, form: Form, about: &'static str) -> Field {
    Field { name, form, is_needed: false, about }
}

/// A field of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// True if the table must have it. Which fields a limiter must have depends on its kind.
    pub(crate) is_needed: bool,
    pub(crate) about: &'static str,
}

/// The form that a value has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// Some text, at most so many characters.
    Text(usize),
    /// A whole number in a range. The checks leave the range to the engine, which knows what a limit
    /// may be in a window of some length.
    Whole(u64, u64),
    /// A whole number in a range, which is checked.
    Within(u64, u64),
    /// `true` or `false`.
    Flag,
    /// A time, such as `15 minutes`.
    Time,
    /// An amount of memory, such as `64 MiB`.
    Memory,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a kind of limiter.
    Policy,
    /// A value or a list of at least one.
    OneOrMany(&'static Form),
    /// A table with these fields, such as the example.
    Table(&'static [Field], &'static str),
    /// A table of one of several kinds, such as the example. The first field of each kind tells that it
    /// is that one.
    Choice(&'static [&'static [Field]], &'static str),
    /// A table of such values by names that are the operator's.
    Named(&'static Form),
    /// A list of such values.
    List(&'static Form),
    /// A value of the first or the second form.
    Either(&'static Form, &'static Form),
    /// A limiter in a list, which has a name.
    Limiter,
    /// Limiters by their names.
    Limiters,
    /// A level of a hierarchy.
    Level,
    /// A limiter that is part of another one.
    Part,
    /// Fields of a limiter, by keys for which they are different.
    Overrides,
    /// Anything: the field is another program's.
    Any,
}

/// Fields that every limiter may have, but not one that is part of another.
pub(crate) const COMMON: [&str; 15] = [
    "name",
    "key",
    "match",
    "except",
    "cost",
    "penalty",
    "store",
    "max_keys",
    "memory",
    "keys",
    "when_full",
    "wait",
    "shadow",
    "reset",
    "overrides",
];

impl Form {
    /// Returns true if a value has the type of this form, so that its own mistakes are told.
    pub(crate) fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Form::Any, _)
            | (Form::Text(_) | Form::Time | Form::Memory, Value::Text(_))
            | (Form::Whole(..) | Form::Within(..), Value::Whole(0..))
            | (Form::Flag, Value::Flag(_))
            | (
                Form::Table(..)
                | Form::Choice(..)
                | Form::Named(_)
                | Form::Limiter
                | Form::Limiters
                | Form::Level
                | Form::Part
                | Form::Overrides,
                Value::Table(_),
            )
            | (Form::List(_) | Form::OneOrMany(_), Value::List(_)) => true,
            (Form::Word(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Form::OneOrMany(one), _) => one.takes(value),
            (Form::Either(first, second), _) => first.takes(value) || second.takes(value),
            _ => false,
        }
    }

    /// Returns the words that a value may be.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        match self {
            Form::Word(words) => words.to_vec(),
            Form::OneOrMany(one) => one.words(),
            Form::Either(first, second) => [first.words(), second.words()].concat(),
            _ => Vec::new(),
        }
    }

    /// Says what is expected.
    pub(crate) fn expected(&self) -> String {
        match self {
            Form::Text(_) => "expected some text".to_owned(),
            Form::Whole(..) | Form::Within(..) => "expected a whole number".to_owned(),
            Form::Flag => "expected true or false".to_owned(),
            Form::Time => {
                "expected a time in quotes, such as \"15 minutes\" or \"100 ms\"".to_owned()
            }
            Form::Memory => "expected an amount of memory in quotes, such as \"64 MiB\"".to_owned(),
            Form::Word([word]) => format!("expected \"{word}\""),
            Form::Word([first, second]) => format!("expected `{first}` or `{second}`"),
            Form::Word(words) => format!("expected one of `{}`", words.join("`, `")),
            Form::OneOrMany(form) => format!("{}, or a list of these", form.expected()),
            Form::Table(_, example) | Form::Choice(_, example) => {
                format!("expected a table such as {example}")
            }
            Form::Named(_) => "expected a table such as { x-plan = \"free\" }".to_owned(),
            Form::List(Form::Table(_, example)) => {
                format!("expected a list of tables such as {example}")
            }
            Form::List(Form::Level) => "expected a list of levels".to_owned(),
            Form::List(_) => "expected a list of tables".to_owned(),
            Form::Either(first, second) => {
                format!(
                    "{} or {}",
                    first.expected(),
                    second.expected().trim_start_matches("expected ")
                )
            }
            Form::Limiter | Form::Part => {
                "expected a table with the fields of a limiter".to_owned()
            }
            Form::Level => "expected a table with the fields of a level".to_owned(),
            Form::Limiters => "expected a table of limiters by their names".to_owned(),
            Form::Overrides => {
                "expected a table such as { \"10.0.0.7\" = { limit = 100 } }".to_owned()
            }
            Form::Policy => "expected the name of a kind of limiter".to_owned(),
            Form::Any => "expected anything".to_owned(),
        }
    }
}
