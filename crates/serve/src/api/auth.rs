//! Decisions for proxies that ask whether a request may pass.
//!
//! nginx asks by `auth_request`, Traefik by `ForwardAuth`, and Caddy by `forward_auth`: each sends the
//! fields of the client's request, and its method and path in fields of their own.

use std::net::SocketAddr;

use axum::Extension;
use axum::extract::{ConnectInfo, Query, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use sluicegate_http::client_address::ClientKey;
use sluicegate_http::fields::write_retry_after;
use sluicegate_policy::{KeyField, KeyPart, Named, RequestFields, path_of_target};
use utoipa::{IntoParams, ToSchema};

use super::failure::{ASK_AGAIN, Failure, ProblemDetails};
use crate::decision::{Answer, judge};
use crate::limiters::InForce;
use crate::service::Service;

/// The fields in which a proxy tells the method and the path of the client's request. It has to set them on each
/// request: the others are passed on as the client has sent them, so they are not looked at.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FieldNames {
    /// `X-Forwarded-Method` and `X-Forwarded-Uri`.
    #[default]
    Forwarded,
    /// `X-Original-Method`, and `X-Original-URI` or `X-Original-URL`.
    Original,
}

impl FieldNames {
    fn method(self) -> &'static str {
        match self {
            FieldNames::Forwarded => "x-forwarded-method",
            FieldNames::Original => "x-original-method",
        }
    }

    fn paths(self) -> &'static [&'static str] {
        match self {
            FieldNames::Forwarded => &["x-forwarded-uri"],
            FieldNames::Original => &["x-original-uri", "x-original-url"],
        }
    }

    /// Returns a field that tells the method or the path and is given more than once.
    fn given_twice(self, headers: &HeaderMap) -> Option<&'static str> {
        let mut names = self.paths().iter().copied().chain([self.method()]);
        names.find(|name| headers.get_all(*name).iter().nth(1).is_some())
    }
}

/// Returns what is wrong if the proxy does not tell a method or a path that a limiter depends on: without it, the limiter
/// would judge nothing, in silence.
fn missing(
    in_force: &InForce,
    is_asked: impl Fn(&str) -> bool,
    request: &ProxiedRequest<'_>,
    names: FieldNames,
) -> Option<String> {
    let absent = [
        (KeyField::Method, request.method.is_none(), names.method()),
        (KeyField::Path, request.path.is_none(), names.paths()[0]),
    ];
    let mut absent = absent.into_iter().filter(|(_, is_absent, _)| *is_absent);
    let limiters = || in_force.all().iter().filter(|limiter| is_asked(limiter.name()));
    absent.find_map(|(field, _, name)| {
        let limiter = limiters().find(|limiter| limiter.policy().filters_by(field))?;
        let limiter = limiter.name();
        Some(format!(
            "limiter {limiter:?} has a `match` or `except` of the {}, and the proxy has not sent it as `{name}`",
            field.name()
        ))
    })
}

/// Returns what is wrong if a field that is the key of a limiter is given more than once: one of them may be the
/// gateway's, and the other the client's.
fn key_given_twice(
    in_force: &InForce,
    is_asked: impl Fn(&str) -> bool,
    headers: &HeaderMap,
) -> Option<String> {
    let is_twice = |name: &str| headers.get_all(name).iter().nth(1).is_some();
    let limiters = in_force.all().iter().filter(|limiter| is_asked(limiter.name()));
    limiters.into_iter().find_map(|limiter| {
        let mut named = limiter.policy().key.iter().filter_map(KeyPart::named);
        let twice = named.find_map(|named| match named {
            Named::Header(name) if is_twice(name) => Some(name),
            _ => None,
        })?;
        let limiter = limiter.name();
        Some(format!("`{twice}` is given twice, and limiter {limiter:?} decides by it"))
    })
}

/// The parameters of a proxy that asks.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Names of limiters, separated by commas. By default all whose policies judge the request.
    limiters: Option<String>,
    /// Status of a denial, from 400 to 599. By default 429. nginx's `auth_request` lets only 401 and 403
    /// be denials. A server that gives no answer is none, and stays 503.
    denied: Option<u16>,
    /// Fields in which the proxy tells the method and the path: `forwarded`, the default, for
    /// `X-Forwarded-Method` and `X-Forwarded-Uri`, or `original` for `X-Original-Method` and
    /// `X-Original-URI`. The proxy has to set them; the others are those of the client, and are ignored.
    #[serde(default)]
    #[param(inline)]
    fields: FieldNames,
}

/// Tells whether a client's request may pass, by the limiters whose policies judge it.
#[utoipa::path(
    get,
    path = "/v1/auth",
    tag = "decisions",
    params(Asked),
    responses(
        (status = 204, description = "It may pass"),
        (status = 400, description = "A parameter is wrong, the client's address is not known, or a field that a limiter depends on is missing or given twice", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "No limiter has one of the names, or the policy has levels only, which are not asked here", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 429, description = "It is denied; `Retry-After` says for how long, if waiting helps"),
        (status = 503, description = "The server of a limiter gives no answer, and the limiter's policy is to refuse then"),
    )
)]
pub(super) async fn auth(
    State(service): State<Service>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    query: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let bad = |detail: String| Failure::new(StatusCode::BAD_REQUEST, detail);
    let Query(asked) = query.map_err(|rejection| bad(rejection.body_text()))?;
    let denied = match asked.denied {
        None => None,
        Some(code @ 400..=599) => {
            Some(StatusCode::from_u16(code).map_err(|error| bad(error.to_string()))?)
        }
        Some(code) => return Err(bad(format!("`denied` is {code}: must be from 400 to 599"))),
    };
    let peer = peer.map(|Extension(ConnectInfo(address))| address.ip());
    let client = match service.client_address().key(peer, &headers) {
        // The whole address: the policy says how much of it is the client.
        ClientKey::Address(address) => address.to_string(),
        ClientKey::Refused(why) => return Err(bad(format!("the client's address: {why}"))),
        ClientKey::Shared | ClientKey::Unlimited => String::new(),
    };
    let in_force = service.limiters().load();
    let names: Option<Vec<&str>> =
        asked.limiters.as_deref().map(|names| names.split(',').collect());
    if let Some(unknown) = names.iter().flatten().find(|name| in_force.get(name).is_none()) {
        service.tell_unknown(unknown);
        let detail =
            format!("`limiters`: no limiter is named {unknown:?}; GET /v1/limiters lists them");
        return Err(Failure::new(StatusCode::NOT_FOUND, detail));
    }
    let has_levels = || !service.limiters().registry().hierarchy().levels().is_empty();
    if names.is_none() && in_force.all().is_empty() && has_levels() {
        let detail = "the policy has levels only, which are not asked here: POST /v1/levels/check";
        return Err(Failure::new(StatusCode::NOT_FOUND, detail));
    }
    if let Some(twice) = asked.fields.given_twice(&headers) {
        // Which of them the proxy has set is not known: the other is the client's.
        return Err(bad(format!(
            "`{twice}` is given twice: the proxy has to set it in place of the client's"
        )));
    }
    let request = ProxiedRequest::new(&headers, &client, asked.fields);
    let is_asked = |name: &str| names.as_ref().is_none_or(|names| names.contains(&name));
    if let Some(missing) = missing(&in_force, is_asked, &request, asked.fields) {
        return Err(bad(missing));
    }
    if let Some(twice) = key_given_twice(&in_force, is_asked, &headers) {
        return Err(bad(twice));
    }
    let judged = judge(&in_force, names.as_deref(), &request).await;
    match judged.denied_by.and_then(|which| judged.answers.get(which)) {
        None => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(answer) => Ok(refuse(denied, answer)),
    }
}

/// Returns the answer to a request that may not pass, with the status of a denial that the proxy has asked for.
fn refuse(denied: Option<StatusCode>, answer: &Answer<'_>) -> Response {
    let mut response = axum::Json(answer).into_response();
    // A limiter whose server is away says nothing about the client.
    let (status, wait) = if answer.is_unavailable() {
        (StatusCode::SERVICE_UNAVAILABLE, Some(ASK_AGAIN))
    } else {
        let denied = denied.unwrap_or(StatusCode::TOO_MANY_REQUESTS);
        (denied, answer.retry_after.map(|wait| wait.0))
    };
    *response.status_mut() = status;
    if wait.is_some() {
        write_retry_after(response.headers_mut(), wait);
    }
    // A shared cache is not to answer the next client with this.
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    response
}

/// A client's request, as a proxy tells it.
struct ProxiedRequest<'r> {
    headers: &'r HeaderMap,
    client: &'r str,
    method: Option<&'r [u8]>,
    path: Option<&'r [u8]>,
}

impl<'r> ProxiedRequest<'r> {
    fn new(headers: &'r HeaderMap, client: &'r str, names: FieldNames) -> ProxiedRequest<'r> {
        let value = |name: &&str| headers.get(*name).map(http::HeaderValue::as_bytes);
        let target = names.paths().iter().find_map(value);
        let path = target.map(path_of_target);
        ProxiedRequest { headers, client, method: value(&names.method()), path }
    }

    fn value(&self, name: &str) -> Option<&'r [u8]> {
        self.headers.get(name).map(http::HeaderValue::as_bytes)
    }
}

impl RequestFields for ProxiedRequest<'_> {
    fn field(&self, field: KeyField) -> Option<&[u8]> {
        match field {
            KeyField::Client => Some(self.client.as_bytes()),
            KeyField::Path => self.path,
            KeyField::Method => self.method,
            KeyField::Referer => self.value("referer"),
            KeyField::Agent => self.value("user-agent"),
            // There is no response yet, and nobody has signed in here.
            KeyField::Status | KeyField::StatusClass | KeyField::User | KeyField::All => None,
        }
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.value(name)
    }
}
