//! Limits on a real Redis server, which two servers share, and which ends and comes back.

use sluicegate_http::layer::Remote;
use sluicegate_redis::{Async, Guarded, KeySpace, RedisLimit, RedisLimiter};

use super::redis_server::Server;
use super::*;

type OnServer = RedisLimiter<Guarded<Async>>;

fn limiter(server: &Server) -> OnServer {
    let guarded = Guarded::new(Async::new(server.client())).with_pause(Duration::from_millis(50));
    let limit = RedisLimit::token_bucket(quota!(3 / day)).unwrap();
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), guarded)
}

async fn served(limit: Limit) -> SocketAddr {
    serve(hello().layer(RateLimitLayer::new(limit))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_a_limit_on_redis_which_goes_and_comes_back() {
    let mut server = Server::start();
    let timeout = Duration::from_secs(5);
    let one = served(Limit::per_client(Remote::new(limiter(&server), timeout))).await;
    let other = served(Limit::per_client(Remote::new(limiter(&server), timeout))).await;
    let open = served(Limit::of_all(Remote::new(limiter(&server), timeout).fail_open())).await;
    let keyed =
        served(Limit::per_key(Remote::new(limiter(&server), timeout), |_| "user:42".into())).await;
    let client = client(false);
    let mut statuses = Vec::new();
    for address in [one, other, one, other, open, keyed] {
        statuses.push(status(&client, address, "/").await);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 200, 200]);
    let refused = send(&client, one, Method::GET, "/", &[]).await;
    assert!(refused.headers.contains_key("retry-after"));
    let mut names: Vec<String> =
        redis::cmd("KEYS").arg("*").query(&mut server.connection()).unwrap();
    names.sort();
    let keys: Vec<&str> =
        names.iter().filter_map(|name| name.split_once('{')).map(|(_, key)| key).collect();
    assert_eq!(keys, ["global}", "ip:127.0.0.1}", "user:42}"]);

    server.kill();
    assert_eq!(status(&client, one, "/").await, 503);
    assert_eq!(status(&client, open, "/").await, 200);
    server.restart();
    // Without its data: the limit begins anew. The breaker leaves it alone for a while.
    let back = async {
        while status(&client, one, "/").await != 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), back).await.expect("it is never asked again");
}
