//! The part of a server that its limiters need.

use std::collections::{BTreeMap, BTreeSet};

use crate::key_space::KeySpace;
use crate::script::{RESET, Script};

/// The part of a server that its limiters need.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs {
    /// Beginnings of names, and names of two slots that no limiter has.
    pub(super) names: BTreeMap<String, [String; 2]>,
    pub(super) commands: BTreeSet<&'static str>,
}

impl Needs {
    /// Notes that a limiter with a script has names in `keys`.
    pub(super) fn add(&mut self, keys: &KeySpace, script: &'static Script) {
        // No key is too short.
        if let (Ok(one), Ok(other)) = (keys.name("check", "0"), keys.name("check", "1")) {
            let prefix = one.trim_end_matches("check:{0}").to_owned();
            self.names.insert(prefix, [one, other]);
        }
        self.commands.extend(script.commands().into_iter().chain(RESET.commands()));
    }
}
