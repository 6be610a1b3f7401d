//! The form of a field: the type of its value, and the names of the fields in it.

use std::collections::HashMap;

use bytesize::ByteSize;

use super::kinds::{KINDS, KindFields, POLICIES, kind_names};
use super::{Checks, ENOUGH, messages};
use crate::Format;
use crate::fields::{COMMON, Field, Form, LEVEL, LIMITER};
use crate::problem::{Problem, synonym};
use crate::tree::{Entry, Node, Value, has_leading_zero};

impl Checks<'_> {
    /// Reports each field of a table that is none of `fields`, is given twice, or is missing, and
    /// checks the forms of all others.
    pub(super) fn table(&mut self, path: &str, node: &Node, fields: &[Field], of: &str) {
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        self.names(path, node, Some(fields), &names, of);
        self.forms(path, node, fields);
    }

    fn forms(&mut self, path: &str, node: &Node, fields: &[Field]) {
        for entry in node.table().unwrap_or_default() {
            if let Some(field) = fields.iter().find(|field| field.name == entry.name) {
                self.form(&messages::path(path, field.name), &entry.node, &field.form);
            }
        }
        for field in fields.iter().filter(|field| field.is_needed && node.get(field.name).is_none())
        {
            let problem = messages::lacks_field(path, field.name, node.span.clone());
            self.errors.push(problem);
        }
    }

    /// Reports names that are none of `fields`, if any name is not allowed, or are there twice;
    /// `shown` are the names to take.
    fn names(
        &mut self,
        path: &str,
        node: &Node,
        fields: Option<&[Field]>,
        shown: &[&str],
        of: &str,
    ) {
        let mut seen = HashMap::new();
        for entry in node.table().unwrap_or_default() {
            if self.errors.len() >= ENOUGH {
                return;
            }
            if let Some(first) = seen.insert(&entry.name, entry) {
                self.errors.push(messages::twice(path, entry, first));
            } else if fields
                .is_some_and(|fields| fields.iter().all(|field| field.name != entry.name))
            {
                self.errors.push(messages::unknown_field(path, entry, shown, of));
            }
        }
    }

    /// Checks the form of a value.
    pub(super) fn form(&mut self, path: &str, node: &Node, form: &Form) {
        match (form, &node.value) {
            // Those of limiters are checked with the limiters, and those of levels with the levels.
            (Form::Any | Form::Limiter | Form::Level, _)
            | (Form::Flag, Value::Flag(_))
            | (Form::Whole(..), Value::Whole(0..))
            | (Form::Overrides | Form::Limiters, Value::Table(_)) => {}
            (Form::Text(most), Value::Text(text)) => self.text(path, node, text, *most),
            (Form::Policy, _) => self.form(path, node, &Form::Word(&POLICIES)),
            (Form::Word(words), Value::Text(text)) => {
                if !words.contains(&text.as_str()) {
                    let problem = self.wrong_value(path, node, self.expected(form));
                    self.errors.push(problem.did_you_mean(text, words.iter().copied()));
                }
            }
            (Form::Time, Value::Text(text)) => {
                match humantime::parse_duration(text) {
                    Ok(_) => self.warn_of_time(path, node),
                    Err(error) => {
                        self.errors.push(self.wrong_value(path, node, format!(
                        "not a time: {error}; write, for example, \"15 minutes\" or \"100 ms\""
                    )));
                    }
                }
            }
            (Form::Memory, Value::Text(text)) => {
                if text.trim().parse::<ByteSize>().is_err() {
                    self.errors.push(self.wrong_value(path, node, self.expected(form)));
                }
            }
            (Form::OneOrMany(one), Value::List(nodes)) if !nodes.is_empty() => {
                for node in nodes {
                    self.form(path, node, one);
                }
            }
            (Form::OneOrMany(_), Value::List(_)) => {
                self.errors.push(self.wrong_value(path, node, "expected at least one"));
            }
            (Form::OneOrMany(one), value) if one.takes(value) || node.text().is_some() => {
                self.form(path, node, one);
            }
            (Form::Table(fields, _), Value::Table(_)) => {
                self.table(path, node, fields, &messages::named(path));
            }
            (Form::List(one), Value::List(nodes)) => {
                for node in nodes {
                    self.form(path, node, one);
                }
            }
            (Form::Either(first, second), _) => self.either(path, node, form, [first, second]),
            (Form::Choice(kinds, _), Value::Table(_)) => self.choice(path, node, kinds),
            (Form::Named(one), Value::Table(entries)) => {
                self.names(path, node, None, &[], "");
                for entry in entries {
                    self.form(&messages::path(path, &entry.name), &entry.node, one);
                }
            }
            (Form::Within(least, most), Value::Whole(number)) => {
                if !(i128::from(*least)..=i128::from(*most)).contains(number) {
                    let expected = messages::within(*least, *most);
                    self.errors.push(self.wrong_value(path, node, expected));
                }
            }
            (Form::Part, Value::Table(_)) => self.part(path, node),
            (Form::Whole(least, _), Value::Whole(..0)) => {
                self.errors.push(self.wrong_value(path, node, format!("must be {least} or more")));
            }
            (Form::Whole(..) | Form::Within(..), Value::Number) if self.has_leading_zero(node) => {
                self.errors.push(self.wrong_value(path, node, messages::NO_LEADING_ZERO));
            }
            (Form::Table(..), Value::Text(text)) => {
                let problem = self.wrong_value(path, node, self.expected(form));
                let meant = messages::rate_of(text).map(|rate| self.in_format(&rate));
                self.errors.push(Problem { meant, ..problem });
            }
            _ => self.errors.push(self.wrong_value(path, node, self.expected(form))),
        }
    }

    fn has_leading_zero(&self, node: &Node) -> bool {
        self.text.get(node.span.clone()).is_some_and(has_leading_zero)
    }

    /// Says what is expected, with examples in the file's own format.
    pub(super) fn expected(&self, form: &Form) -> String {
        self.in_format(&form.expected())
    }

    /// Returns a text with its examples, which are in TOML, in the file's own format.
    pub(super) fn in_format(&self, text: &str) -> String {
        let expected = text.to_owned();
        match self.format {
            Format::Toml => expected,
            Format::Yaml => expected.replace(" = ", ": "),
            Format::Json => {
                let mut words: Vec<String> = expected.split(' ').map(str::to_owned).collect();
                for equals in 1..words.len() {
                    if words[equals] == "=" {
                        words[equals - 1] = format!("\"{}\":", words[equals - 1].trim_matches('"'));
                    }
                }
                words.retain(|word| word != "=");
                words.join(" ")
            }
        }
    }

    fn text(&mut self, path: &str, node: &Node, text: &str, most: usize) {
        if text.trim().is_empty() {
            self.errors.push(self.wrong_value(path, node, messages::SOME_TEXT));
        } else if text.chars().count() > most {
            self.errors.push(messages::too_long(path, node.span.clone(), text, most));
        }
    }

    /// Checks a value by the first of two forms that has its type.
    fn either(&mut self, path: &str, node: &Node, form: &Form, of: [&Form; 2]) {
        let is_word = |text: &str| text.starts_with(|c: char| c.is_alphabetic());
        match of.into_iter().find(|form| form.takes(&node.value)) {
            // No time, but a misspelling of the word that may be there too.
            Some(Form::Time) if node.text().is_some_and(is_word) => {}
            Some(form) => return self.form(path, node, form),
            None => {}
        }
        let problem = self.wrong_value(path, node, self.expected(form));
        let given = node.text().unwrap_or_default();
        self.errors.push(problem.did_you_mean(given, form.words()));
    }

    /// Checks a table of one of several kinds, of which the first field of each tells that it is one.
    fn choice(&mut self, path: &str, node: &Node, kinds: &[&'static [Field]]) {
        let of = messages::named(path);
        let chosen: Vec<&&[Field]> =
            kinds.iter().filter(|kind| node.get(kind[0].name).is_some()).collect();
        match chosen.as_slice() {
            [kind] => self.table(path, node, kind, &of),
            [] => {
                let all = kinds.iter().copied().flatten();
                let known = |entry: &&Entry| all.clone().any(|field| field.name == entry.name);
                let firsts: Vec<&str> = kinds.iter().map(|kind| kind[0].name).collect();
                let mut unknown = node.table().unwrap_or_default().iter().filter(|e| !known(e));
                let problem = match unknown.next() {
                    Some(entry) => messages::unknown_field(path, entry, &firsts, &of),
                    None => self.wrong_value(path, node, messages::lacks_one_of(&firsts)),
                };
                self.errors.push(problem);
            }
            [first, second, ..] => {
                let [(first, one), (second, other)] = [first, second].map(|kind| {
                    let name = kind[0].name;
                    (name, node.get(name).unwrap_or(node))
                });
                self.errors.push(messages::not_beside(first, one, second, other));
            }
        }
    }

    /// Checks the forms of the fields of a limiter.
    pub(super) fn limiter_form(&mut self, path: &str, node: &Node) {
        let is_common = |name: &str| COMMON.contains(&name) && path.is_empty();
        let shown = offered(node, &LIMITER, is_common);
        let before = self.errors.len();
        self.names(path, node, Some(&LIMITER), &shown, "a limiter");
        for place in before..self.errors.len() {
            let Problem { field, meant: None, .. } = &self.errors[place] else { continue };
            let kind = common_kind_of(field).map(|kind| format!("policy = \"{kind}\""));
            self.errors[place].meant = kind.map(|kind| self.in_format(&kind));
        }
        self.forms(path, node, &LIMITER);
    }

    /// Checks the forms of the fields of a level: its own, and those of its kind of limiter.
    pub(super) fn level_form(&mut self, node: &Node) {
        let of_kind = LIMITER.iter().filter(|field| !COMMON.contains(&field.name));
        let fields: Vec<Field> = LEVEL.iter().chain(of_kind).copied().collect();
        let shown = offered(node, &fields, |name| LEVEL.iter().any(|own| own.name == name));
        self.names("hierarchy", node, Some(&fields), &shown, "a level");
        self.forms("hierarchy", node, &fields);
    }

    fn part(&mut self, path: &str, node: &Node) {
        self.limiter_form(path, node);
        for entry in node.table().unwrap_or_default() {
            if COMMON.contains(&entry.name.as_str()) {
                self.errors.push(messages::not_of_part(path, entry));
            }
        }
    }

    /// Reports the fields that limiters of this kind do not have, and those that they lack.
    pub(super) fn kind_form(&mut self, kind: &KindFields, given: &super::given::Given<'_>) {
        let own: Vec<&str> = kind.own().collect();
        for Entry { name, node, .. } in given.entries().iter().copied() {
            let is_of_other = KINDS.iter().any(|other| other.own().any(|field| field == name));
            let is_mode = name == "mode";
            if (is_of_other && !own.contains(&name.as_str())) || (is_mode && kind.mode.is_none()) {
                let path = messages::path(given.prefix, name);
                self.errors.push(messages::not_of_kind(
                    &path,
                    node.span.clone(),
                    &kind.shown(),
                    &own,
                ));
            }
        }
        for field in kind.needed.iter().filter(|field| given.get(field).is_none()) {
            self.errors.push(messages::kind_needs(given, &kind.shown(), &format!("`{field}`")));
        }
        if let [first, second] = kind.either {
            match (given.get(first), given.get(second)) {
                (None, None) => {
                    let what = format!("`{first}` or `{second}`");
                    self.errors.push(messages::kind_needs(given, &kind.shown(), &what));
                }
                (Some(first_node), Some(second_node)) => {
                    let problem = messages::not_beside(first, first_node, second, second_node);
                    self.errors.push(problem);
                }
                _ => {}
            }
        }
    }
}

/// Returns the names of those of the `fields` that a limiter of this kind may have. Names of other kinds' fields are told
/// later that they belong to those.
fn offered(node: &Node, fields: &[Field], is_common: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let policy = node.get("policy").and_then(Node::text);
    let kind = KINDS.iter().filter(|kind| Some(kind.policy) == policy);
    let own: Vec<&str> = kind.flat_map(KindFields::own).collect();
    let is_offered =
        |name: &&str| *name == "policy" || own.is_empty() || is_common(name) || own.contains(name);
    fields.iter().map(|field| field.name).filter(is_offered).collect()
}

/// Returns the kind with one limiter for all keys that alone has the field that a word of another program stands for.
fn common_kind_of(word: &str) -> Option<&'static str> {
    let names: Vec<&str> = LIMITER.iter().map(|field| field.name).collect();
    let meant = synonym(word, &names)?;
    match kind_names(|kind| kind.is_common && kind.own().any(|own| own == meant))[..] {
        [kind] => Some(kind),
        _ => None,
    }
}

impl Problem {
    pub(super) fn at_field(entry: &Entry, path: &str, title: String, label: String) -> Problem {
        Problem::new(entry.name_span.clone(), messages::path(path, &entry.name), title, label)
    }
}
