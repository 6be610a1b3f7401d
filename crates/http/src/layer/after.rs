//! The work that is left when the service has responded.

use std::sync::Arc;
use std::time::SystemTime;

use http::Response;
use http_body::Body;

use super::Shared;
use super::body::LimitedBody;
use super::held::{Held, KeptForResponse};
use super::request_class::{RequestClass, in_classes};
use super::response_end::NoResponse;
use crate::fields::PolicyState;

/// The work that is left when the response to a request is known: none for most requests.
pub(super) struct After {
    pub(super) shared: Arc<Shared>,
    /// The states of the limits, for the fields of the response.
    pub(super) states: Vec<PolicyState<'static>>,
    /// The classes of the request that the fields tell, by the index of the limit.
    pub(super) classes: Vec<(usize, RequestClass)>,
    /// The permits that are settled, or given back, when the response is known or has ended.
    pub(super) kept: KeptForResponse,
}

impl After {
    /// Does the work, now that the service has responded or failed.
    pub(super) fn end<R: Body, E>(
        after: Option<Box<After>>,
        response: Result<Response<R>, E>,
    ) -> Result<Response<LimitedBody<R>>, E> {
        match response {
            Ok(response) => Ok(After::finish(after, response)),
            Err(error) => {
                if let Some(after) = after {
                    after.kept.end(NoResponse::Failed);
                }
                Err(error)
            }
        }
    }

    /// Settles what the head of a response settles, adds the fields, and lets its body hold the rest.
    fn finish<R: Body>(
        after: Option<Box<After>>,
        response: Response<R>,
    ) -> Response<LimitedBody<R>> {
        let Some(after) = after else { return response.map(LimitedBody::service) };
        let (mut parts, body) = response.into_parts();
        let held = Held::after_head(after.kept, &parts);
        if !after.states.is_empty() {
            let shared = &after.shared;
            let states = in_classes(&after.states, &after.classes);
            shared.writer.add(&mut parts.headers, &states, SystemTime::now());
            shared.edit_fields(&mut parts.headers, &states);
        }
        Response::from_parts(parts, LimitedBody::holding(body, held))
    }
}
