//! The routes of the service, and their description in `OpenAPI`.
//!
//! | file | |
//! |---|---|
//! | `check` | `POST /v1/check`, `/v1/check/batch`, `/v1/peek` |
//! | `before_routes` | these three again: a server answers them before it looks through the routes |
//! | `auth` | `/v1/auth`, for proxies that ask whether a request may pass |
//! | `offence` | `POST /v1/offence` |
//! | `levels` | `POST /v1/levels/check`, `/v1/levels/peek`, `/v1/levels/reset` |
//! | `limiters` | `GET /v1/limiters` |
//! | `admin` | `POST /v1/reset`, `/v1/reload` |
//! | `metrics` | `GET /metrics` |
//! | `health` | `GET /healthz`, `/readyz` |
//! | `body` | bodies of requests |
//! | `failure` | answers to requests that are wrong |
//! | `any_request` | the description of answers that do not depend on the path |
//! | `unserved` | answers of a server that has no policy |

mod admin;
mod any_request;
mod auth;
mod before_routes;
mod body;
mod check;
mod failure;
mod health;
mod levels;
mod limiters;
mod metrics;
mod offence;
mod unserved;

use axum::Router;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::before_routes::DecisionRoute;
pub(crate) use self::failure::Failure;
pub use self::unserved::without_policy;
use crate::service::Service;

/// Most bytes of a request's body.
pub const MAX_BODY_BYTES: usize = 1 << 20;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "sluicegate",
        description = "Decisions of rate limiters. A denial is an answer like a grant, so it has status 200; only `/v1/auth`, which proxies ask, tells it by the status. A request that is wrong gets problem details (RFC 9457), and charges nothing.",
        license(name = "MIT OR Apache-2.0")
    ),
    tags(
        (name = "decisions", description = "Questions to limiters"),
        (name = "administration", description = "Verbs that need `Authorization: Bearer`, and are off unless the service has a token"),
        (name = "service", description = "The service itself")
    )
)]
struct Description;

/// Returns the routes of `service`, with their description at `/openapi.json`.
pub fn routes(service: Service) -> Router {
    let (routes, mut description) = described().split_for_parts();
    any_request::describe(&mut description);
    let description = axum::Json(description);
    routes
        .route("/openapi.json", get(move || async move { description }))
        .fallback(|| async { Failure::no_such_path() })
        .method_not_allowed_fallback(|| async { Failure::wrong_method() })
        .with_state(service)
}

fn described() -> OpenApiRouter<Service> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(check::check))
        .routes(routes!(check::batch))
        .routes(routes!(check::peek))
        .routes(routes!(levels::check))
        .routes(routes!(levels::peek))
        .routes(routes!(auth::auth))
        .routes(routes!(offence::offence))
        .routes(routes!(limiters::limiters))
        .routes(routes!(admin::reset))
        .routes(routes!(admin::reload))
        .routes(routes!(levels::reset))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::metrics))
}
