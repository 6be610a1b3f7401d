//! The class of a request, as the service and the client are told it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::fields::PolicyState;

/// The class of a request that a limit by priority has admitted: an extension of the request that the service gets.
///
/// Limits by share insert the [`ShareGrant`](sluicegate::share::ShareGrant) in the same way, which tells whether the permits are
/// the tenant's own or lent. Of several such limits of a layer, the last one in which the request took permits is told.
///
/// # Examples
///
/// ```
/// use axum::{Extension, Router, routing::get};
/// use sluicegate_http::layer::RequestClass;
///
/// async fn export(Extension(class): Extension<RequestClass>) -> String {
///     format!("served as one of {class}")
/// }
/// let app: Router = Router::new().route("/", get(export));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestClass(Arc<str>);

impl RequestClass {
    pub(super) fn new(name: &str) -> RequestClass {
        RequestClass(name.into())
    }

    /// Returns the name of the class.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Returns states with the classes of some limits, by their index, as partition keys.
pub(super) fn in_classes<'c>(
    states: &'c [PolicyState<'c>],
    classes: &'c [(usize, RequestClass)],
) -> Cow<'c, [PolicyState<'c>]> {
    if classes.is_empty() {
        return Cow::Borrowed(states);
    }
    let in_class = |state: &PolicyState<'c>| {
        let class = classes.iter().find(|(which, _)| *which == state.which);
        class.map_or(*state, |(_, class)| state.in_partition(class.as_str().as_bytes()))
    };
    states.iter().map(in_class).collect()
}
