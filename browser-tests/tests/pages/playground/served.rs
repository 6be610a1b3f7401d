//! A server of the playground on this machine.

use std::net::{Ipv4Addr, SocketAddr};

use sluicegate_playground::wire::{Offer, OfferedLimiter, SideSetup};
use sluicegate_playground::{Playground, PlaygroundOptions};
use sluicegate_policy::{Policies, Registry};
use sluicegate_serve::{Bounds, Limiters, Server, Service, api};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The limiters that the page of the live ones asks.
const POLICY: &str = r#"
[limiters.pages]
policy = "fixed_window"
key = "user"
limit = 7
interval = "300 days"

[limiters.server]
policy = "fixed_window"
key = "all"
limit = 1_000
interval = "300 days"
"#;

/// Returns the limiters of a policy: one that can be copied, and one that cannot.
fn offer() -> Offer {
    let parameters =
        [("limit", 7), ("window", 3600)].map(|(id, value)| (id.to_owned(), value.into()));
    let side = SideSetup {
        algorithm: "fixed_window".to_owned(),
        parameters: parameters.into(),
        per_key: true,
        wait: None,
    };
    let reason = "it follows the calendar".to_owned();
    let of = |name: &str, side, reason| OfferedLimiter { name: name.to_owned(), side, reason };
    let limiters = vec![of("pages", Some(side), None), of("daily", None, Some(reason))];
    Offer { source: "limits.toml".to_owned(), limiters }
}

/// A server that runs until it is stopped.
pub(super) struct Served {
    address: SocketAddr,
    playground: Playground,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Served {
    /// Starts a server; port 0 is one that is free.
    pub(super) async fn start(port: u16) -> Served {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Server::bind(address, Bounds::default()).await.unwrap();
        let address = server.address().unwrap();
        let playground = Playground::with_offer(PlaygroundOptions::default(), offer).unwrap();
        let policies = Policies::from_toml("limits.toml", POLICY).unwrap();
        let service = Service::new(Limiters::new(Registry::new(policies).unwrap()));
        let routes = api::routes(service).merge(playground.routes());
        let (end, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(server.run(routes, async { drop(ended.await) }));
        Served { address, playground, end, task }
    }

    /// Returns the scheme and address of its pages.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Stops it, and waits until its port is free.
    pub(super) async fn stop(self) {
        let _ = self.end.send(());
        self.playground.close();
        self.task.await.unwrap();
    }
}
