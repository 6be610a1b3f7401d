//! The pages of `docs/` on this crate, whose programs are tested as its documentation is.

#[doc = include_str!("../../../docs/http.md")]
mod http {}

#[doc = include_str!("../../../docs/http-client.md")]
mod http_client {}

#[doc = include_str!("../../../docs/http-coming-from.md")]
mod http_coming_from {}
