//! Requests as policies look at them: for costs by rules and headers, and for offences by answers.

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use sluicegate_policy::{Filter, KeyField, Named, Penalty, RequestFields};

/// The parts of a request that a policy can look at. What a log has besides, such as columns, is absent.
pub(super) struct PolicyRequest<'r> {
    pub(super) method: &'r Method,
    pub(super) uri: &'r Uri,
    pub(super) headers: &'r HeaderMap,
    /// The client, if that is the key of the limit.
    pub(super) client: Option<&'r str>,
    /// The status of the answer, if there is one.
    pub(super) status: Option<StatusCode>,
}

impl<'r> PolicyRequest<'r> {
    pub(super) fn of(parts: &'r Parts, client: Option<&'r str>) -> PolicyRequest<'r> {
        let Parts { method, uri, headers, .. } = parts;
        PolicyRequest { method, uri, headers, client, status: None }
    }
}

impl RequestFields for PolicyRequest<'_> {
    fn field(&self, field: KeyField) -> Option<&[u8]> {
        match field {
            KeyField::Client => self.client.map(str::as_bytes),
            KeyField::Path => Some(self.uri.path().as_bytes()),
            KeyField::Method => Some(self.method.as_str().as_bytes()),
            KeyField::Status => self.status.as_ref().map(|status| status.as_str().as_bytes()),
            KeyField::Referer => self.header(header::REFERER.as_str()),
            KeyField::Agent => self.header(header::USER_AGENT.as_str()),
            _ => None,
        }
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.get(name).map(http::HeaderValue::as_bytes)
    }
}

/// A request that was admitted, as far as the policy's offences look at it.
pub(super) struct Admitted {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    client: Option<String>,
}

impl Admitted {
    /// Returns the parts of a request that the offences of `penalty` may look at, besides the answer.
    pub(super) fn of(parts: &Parts, client: Option<&str>, penalty: &Penalty) -> Admitted {
        let mut headers = HeaderMap::new();
        for name in penalty.of_answers.iter().flat_map(header_names) {
            if let Some((name, value)) = http::HeaderName::from_bytes(name.as_bytes())
                .ok()
                .and_then(|name| parts.headers.get(&name).map(|value| (name, value.clone())))
            {
                headers.insert(name, value);
            }
        }
        let (method, uri) = (parts.method.clone(), parts.uri.clone());
        Admitted { method, uri, headers, client: client.map(str::to_owned) }
    }

    /// Returns true if the answer makes it an offence.
    pub(super) fn is_offence(&self, status: StatusCode, penalty: &Penalty) -> bool {
        let Admitted { method, uri, headers, client } = self;
        let (client, status) = (client.as_deref(), Some(status));
        penalty.is_offence(&PolicyRequest { method, uri, headers, client, status })
    }
}

fn header_names(filter: &Filter) -> impl Iterator<Item = &str> {
    let named = filter.named.iter().filter_map(|(named, _)| match named {
        Named::Header(name) => Some(name.as_str()),
        Named::Column(_) => None,
    });
    let agent = !filter.agent_contains.texts().is_empty();
    named.chain(agent.then_some(header::USER_AGENT.as_str()))
}
