//! Key expressions.

use super::Checks;
use super::given::{Given, many, whole};
use crate::tree::Node;
use crate::{AddressPrefix, KeyField, KeyPart, Missing, Named, Otherwise};

impl Checks<'_> {
    /// Returns the parts of the key: the client if none is given, and nothing if a part has a mistake.
    pub(super) fn key(&mut self, given: &Given<'_>) -> Vec<KeyPart> {
        let Some(node) = given.get("key") else { return vec![KeyField::Client.into()] };
        let nodes = many(node);
        let key: Vec<KeyPart> = nodes.iter().filter_map(|node| self.key_part(node)).collect();
        self.check_key(given, node, &key);
        if key.len() == nodes.len() { key } else { Vec::new() }
    }

    /// Returns a part of a key. `None` if its form is wrong, which has been reported.
    fn key_part(&mut self, node: &Node) -> Option<KeyPart> {
        if let Some(name) = node.text() {
            return KeyField::from_name(name).map(KeyPart::from);
        }
        let text = |field| node.get(field).and_then(Node::text);
        let missing = match text("missing") {
            Some("admit") => Missing::Admit,
            Some("shared") => Missing::Shared,
            _ => Missing::Deny,
        };
        if let Some(prefix) = node.get("client") {
            let bits = |field, usual| {
                let bits = prefix.get(field).map_or(Some(usual), whole)?;
                u8::try_from(bits).ok()
            };
            let AddressPrefix { ipv4, ipv6 } = AddressPrefix::CLIENT;
            let (ipv4, ipv6) = (bits("ipv4", ipv4.into())?, bits("ipv6", ipv6.into())?);
            return Some(KeyPart::Client(AddressPrefix { ipv4, ipv6 }));
        }
        if let Some(path) = node.get("path") {
            if let Some(segments) = path.get("segments") {
                if let Some(otherwise) = node.get("otherwise") {
                    let label = "every path has its first segments: `otherwise` is for templates";
                    self.errors.push(self.wrong_value("key.otherwise", otherwise, label));
                }
                return whole(segments)
                    .and_then(|segments| u32::try_from(segments).ok().map(KeyPart::Segments));
            }
            let otherwise = match text("otherwise") {
                Some("shared") => Otherwise::Shared,
                Some("admit") => Otherwise::Admit,
                _ => Otherwise::Itself,
            };
            return Some(KeyPart::Templates(self.templates("key.path", Some(path)), otherwise));
        }
        if let Some(name) = text("field") {
            return KeyField::from_name(name).map(|field| KeyPart::Field(field, missing));
        }
        let named = match (text("header"), text("column")) {
            (Some(name), _) => Named::Header(name.to_owned()),
            (None, Some(name)) => Named::Column(name.to_owned()),
            (None, None) => return None,
        };
        Some(KeyPart::Named(named, missing))
    }

    /// Checks that `all` stands alone, and warns of parts that change nothing and of limiters, tenants or classes that are
    /// those of all strangers.
    fn check_key(&mut self, given: &Given<'_>, node: &Node, key: &[KeyPart]) {
        if key.len() > 1 && key.contains(&KeyField::All.into()) {
            let alone = "`all` means one limiter for all requests: it cannot stand beside a field";
            self.errors.push(self.wrong_value("key", node, alone));
        } else if (1..key.len()).any(|place| key[..place].contains(&key[place])) {
            self.warn("key", node, "a field is repeated, which changes nothing");
        } else if let [KeyPart::Field(field, Missing::Shared)] = key
            && matches!(field, KeyField::User | KeyField::Referer | KeyField::Agent)
            && node.text().is_some()
        {
            let name = field.name();
            let strangers = match given.word("policy") {
                Some("shares") => "are one tenant",
                Some("priorities") => "are of one class",
                _ => "share one limiter",
            };
            let label = format!(
                "all requests without one {strangers}; write {} with `deny`, `admit` or `shared`",
                self.in_format(&format!("{{ field = \"{name}\", missing = \"deny\" }}"))
            );
            self.warn("key", node, label);
        }
    }
}

/// Returns the prefix by which keys are networks of clients, if they are.
pub(super) fn client_prefix(key: &[KeyPart]) -> Option<AddressPrefix> {
    match key {
        [KeyPart::Field(KeyField::Client, _)] => Some(AddressPrefix::CLIENT),
        [KeyPart::Client(prefix)] => Some(*prefix),
        _ => None,
    }
}

/// Returns true if keys are clients, or their networks.
pub(super) fn is_by_client(key: &[KeyPart]) -> bool {
    client_prefix(key).is_some()
}

/// Returns the key that an override is for, as requests have it: its name as it is written if the `key` has a mistake.
pub(super) fn of_override(key: &[KeyPart], text: &str) -> String {
    if key.is_empty() {
        return text.to_owned();
    }
    let mut own = Vec::new();
    crate::key::write_given(key, text.as_bytes(), &mut own);
    // A network of several keys is none of them.
    if is_by_client(key)
        && own == text.as_bytes()
        && text.contains('/')
        && let Some(network) = crate::key::network(text)
    {
        return network.to_string();
    }
    String::from_utf8(own).unwrap_or_else(|_| text.to_owned())
}
