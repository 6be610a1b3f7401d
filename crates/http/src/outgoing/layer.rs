//! The layer for clients, and its options.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;

use super::bounds::Bounds;
use super::request::OutgoingRequest;
use super::retries::Retries;
use super::service::Outgoing;
use super::shared::{Options, Shared};

/// Lets a client keep to the limits of the servers that it talks to.
///
/// A request takes its turn: it leaves at once if the server has that much left, and otherwise waits in
/// the line of its server, or is not sent at all. [`ServerLimits`](super::ServerLimits) says what is learned
/// from responses, and what is guaranteed. With [`retries`](OutgoingLayer::retries), requests that were
/// refused are sent again, within a budget. Without, a response is passed on as it is, whatever its
/// status.
///
/// Clones share what is known, and so do the services that the layer makes. `Q` is the type of the
/// requests. The layer works with all clients that are services of tower: those of hyper-util (any
/// `http::Request`), and with the feature `reqwest` a `reqwest::Client`. It runs on tokio.
///
/// # Errors
///
/// A service of the layer returns [`OutgoingError`](super::OutgoingError): the client's own error, a turn
/// that comes too late, or the [`deadline`](OutgoingLayer::deadline).
///
/// # Cancel safety
///
/// A request may be dropped at any time. It leaves the line if it still waits; if it is on its way, it
/// counts as sent.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use http::Request;
/// use http_body_util::Full;
/// use hyper_util::{client::legacy::Client, rt::TokioExecutor};
/// use sluicegate_http::outgoing::{OutgoingLayer, Retries};
/// use tower::{Layer, ServiceExt};
///
/// type Body = Full<&'static [u8]>;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
/// let client = OutgoingLayer::new()
///     .max_wait(Duration::from_secs(10))
///     .retries(Retries::of_clones())
///     .layer(client);
///
/// let request = Request::get("http://api.example.org/items").body(Body::default())?;
/// let response = client.clone().oneshot(request).await?;
/// # Ok(())
/// # }
/// ```
pub struct OutgoingLayer<Q> {
    shared: Arc<Shared<Q>>,
}

impl<Q: OutgoingRequest + 'static> OutgoingLayer<Q> {
    /// Returns a layer that lets requests wait for at most 30 s, without retries.
    #[must_use]
    pub fn new() -> OutgoingLayer<Q> {
        let options = Options { bounds: Bounds::new(), max_servers: 1_000 };
        let shared = Shared {
            servers: options.servers(),
            key: Arc::new(Q::server),
            options,
            max_wait: Duration::from_secs(30),
            deadline: None,
            retries: None,
        };
        OutgoingLayer { shared: Arc::new(shared) }
    }
}

impl<Q> OutgoingLayer<Q> {
    /// Sets the longest wait for a turn, of each try. The default is 30 s. A request whose turn is known
    /// to come later is refused at once, with the wait in its error.
    #[must_use]
    pub fn max_wait(self, longest: Duration) -> OutgoingLayer<Q> {
        self.change(|shared| shared.max_wait = longest)
    }

    /// Sets the longest time from when a request is handed in to its response, with all waits and
    /// retries. (The body of the response may take longer.) The default is none.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> OutgoingLayer<Q> {
        self.change(|shared| shared.deadline = Some(deadline))
    }

    /// Sends requests again that were refused or failed.
    #[must_use]
    pub fn retries(self, retries: Retries<Q>) -> OutgoingLayer<Q> {
        self.change(|shared| {
            shared.retries = Some(retries);
            shared.servers = shared.options.servers();
        })
    }

    /// Sets the bounds within which the word of a server is believed.
    #[must_use]
    pub fn bounds(self, bounds: Bounds) -> OutgoingLayer<Q> {
        self.change(|shared| {
            shared.options.bounds = bounds;
            shared.servers = shared.options.servers();
        })
    }

    /// Sets how many servers are remembered while no request to them is under way. The default is
    /// 1,000. Of more, those of which nothing is known are forgotten, and then those that were used longest
    /// ago. A new one is compared with all of them then, so it should not be millions.
    #[must_use]
    pub fn max_servers(self, servers: usize) -> OutgoingLayer<Q> {
        self.change(|shared| {
            shared.options.max_servers = servers;
            shared.servers = shared.options.servers();
        })
    }

    /// Keeps requests of different keys apart, in place of those to different servers: for servers with a
    /// limit for each account or each route, say.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::Request;
    /// use sluicegate_http::outgoing::{OutgoingLayer, OutgoingRequest};
    ///
    /// // The server has a limit for searches, and another for all else.
    /// let layer = OutgoingLayer::new().key(|request: &Request<String>| {
    ///     let is_search = request.uri().path() == "/search";
    ///     format!("{} {is_search}", request.server())
    /// });
    /// ```
    #[must_use]
    pub fn key(self, key: impl Fn(&Q) -> String + Send + Sync + 'static) -> OutgoingLayer<Q> {
        self.change(|shared| {
            shared.key = Arc::new(key);
            shared.servers = shared.options.servers();
        })
    }

    /// Returns the number of servers that are known. Takes a lock for a moment.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.shared.servers.len()
    }

    /// Changes the options of this layer, and not those of its clones.
    fn change(mut self, change: impl FnOnce(&mut Shared<Q>)) -> OutgoingLayer<Q> {
        change(Arc::make_mut(&mut self.shared));
        self
    }
}

impl<Q: OutgoingRequest + 'static> Default for OutgoingLayer<Q> {
    fn default() -> OutgoingLayer<Q> {
        OutgoingLayer::new()
    }
}

impl<Q> Clone for OutgoingLayer<Q> {
    fn clone(&self) -> OutgoingLayer<Q> {
        OutgoingLayer { shared: Arc::clone(&self.shared) }
    }
}

impl<S, Q> Layer<S> for OutgoingLayer<Q> {
    type Service = Outgoing<S, Q>;

    fn layer(&self, client: S) -> Outgoing<S, Q> {
        Outgoing { client, shared: Arc::clone(&self.shared) }
    }
}

/// Shows the options.
impl<Q> fmt::Debug for OutgoingLayer<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutgoingLayer").field(&self.shared).finish()
    }
}
