//! A cluster of three nodes.

use redis::cluster::ClusterClient;
use sluicegate::{quota, rate};

use super::server::{Server, free_port, wait_until};
use crate::{
    Cluster, Guarded, KeySpace, RedisAll, RedisLimit, RedisLimiter, StoreError, TryAcquireError,
};

/// Three nodes, each with a third of the slots.
pub(super) struct Nodes(pub(super) [Server; 3]);

const BOUNDS: [u16; 4] = [0, 5_461, 10_923, 16_384];

impl Nodes {
    pub(super) fn start() -> Nodes {
        let nodes = [(); 3].map(|()| {
            let port = free_port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-port", &port];
            Server::with_options(&[&options[..], &["--cluster-node-timeout", "1000"]].concat())
        });
        for (index, node) in nodes.iter().enumerate() {
            node.tell(&format!(
                "CLUSTER ADDSLOTSRANGE {} {}",
                BOUNDS[index],
                BOUNDS[index + 1] - 1
            ));
        }
        let bus: String = redis::cmd("CONFIG")
            .arg(&["GET", "cluster-port"])
            .query::<Vec<String>>(&mut nodes[0].connection())
            .unwrap()
            .swap_remove(1);
        for node in &nodes[1..] {
            node.tell(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", nodes[0].port()));
        }
        let nodes = Nodes(nodes);
        wait_until("all nodes know all slots", || {
            nodes.0.iter().all(|node| {
                let info = text(node, "CLUSTER INFO");
                info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            })
        });
        nodes
    }

    pub(super) fn client(&self) -> Cluster {
        Cluster::new(ClusterClient::builder(self.0.each_ref().map(Server::url))).unwrap()
    }

    /// Adds a replica of a node, and returns it with its name once it has the node's data.
    pub(super) fn replica_of(&self, node: usize) -> (Server, String) {
        let port = free_port().to_string();
        let options = ["--cluster-enabled", "yes", "--cluster-port", &port];
        let replica =
            Server::with_options(&[&options[..], &["--cluster-node-timeout", "1000"]].concat());
        let bus: Vec<String> = redis::cmd("CONFIG")
            .arg(&["GET", "cluster-port"])
            .query(&mut self.0[0].connection())
            .unwrap();
        replica.tell(&format!("CLUSTER MEET 127.0.0.1 {} {}", self.0[0].port(), bus[1]));
        let [primary, name] = [&self.0[node], &replica].map(|node| text(node, "CLUSTER MYID"));
        wait_until("all nodes know the replica", || {
            let knows = |node: &Server| text(node, "CLUSTER INFO").contains("known_nodes:4");
            self.0.iter().chain([&replica]).all(knows)
        });
        replica.tell(&format!("CLUSTER REPLICATE {primary}"));
        wait_until("the replica follows", || {
            text(&replica, "INFO replication").contains("master_link_status:up")
        });
        (replica, name)
    }

    /// Returns the node with the slot of the key's name, and that slot.
    pub(super) fn place(&self, name: &str) -> (usize, u16) {
        let mut connection = self.0[0].connection();
        let slot = redis::cmd("CLUSTER").arg(&["KEYSLOT", name]).query(&mut connection).unwrap();
        (BOUNDS[1..].iter().position(|&end| slot < end).unwrap(), slot)
    }
}

fn text(node: &Server, words: &str) -> String {
    let redis::Value::BulkString(bytes) = node.tell(words) else {
        return format!("{:?}", node.tell(words));
    };
    String::from_utf8(bytes).unwrap()
}

fn bucket() -> RedisLimit {
    RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap()
}

fn keys() -> KeySpace {
    KeySpace::new("app").unwrap()
}

#[tokio::test]
async fn keys_are_spread_over_the_nodes_and_all_limits_of_a_key_are_on_one() {
    let nodes = Nodes::start();
    let client = nodes.client();
    let limiter = RedisLimiter::new(bucket(), keys(), client.clone());
    let window = RedisLimit::fixed_window(rate!(7 / 36525 days)).unwrap();
    let pairs = [(bucket(), keys()), (window, keys())];
    let all = RedisAll::new(pairs, client).unwrap();
    let mut per_node = [0; 3];
    for key in 0..30 {
        let key = if key == 0 { String::new() } else { format!("user:{key}") };
        per_node[nodes.place(&format!("{{{key}}}")).0] += 1;
        // Each node has to be told the scripts once.
        assert_eq!(all.try_acquire(&key, 3).await.unwrap().remaining(), 4);
        assert_eq!(limiter.try_acquire(&key, 3).await.unwrap().remaining(), 4);
        assert!(all.try_acquire(&key, 5).await.is_err());
        assert_eq!(all.try_acquire_up_to(&key, 9).await.unwrap().permits(), 4);
        assert_eq!(
            limiter.try_acquire_up_to(&key, 9).await.unwrap_err().denied().unwrap().remaining(),
            Some(0)
        );
    }
    assert!(per_node.iter().all(|&keys| keys > 0), "{per_node:?}");
}

/// While a slot moves to another node, a key may be on either (`ASK`), and later on the other (`MOVED`). Each request is
/// charged once.
#[tokio::test]
async fn a_key_that_moves_to_another_node_is_followed_and_charged_once() {
    let nodes = Nodes::start();
    let limiter = RedisLimiter::new(bucket(), keys(), nodes.client());
    let name = "app:tb:{ada}";
    let (from, slot) = nodes.place(name);
    let (from, to) = (&nodes.0[from], &nodes.0[(from + 1) % 3]);
    let [from_id, to_id] = [from, to].map(|node| text(node, "CLUSTER MYID"));
    let take = async |left: u64| {
        assert_eq!(limiter.try_acquire("ada", 1).await.unwrap().remaining(), left);
    };
    take(9).await;
    to.tell(&format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}"));
    from.tell(&format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}"));
    take(8).await;
    from.tell(&format!("MIGRATE 127.0.0.1 {} {name} 0 5000", to.port()));
    take(7).await;
    take(6).await;
    for node in [to, from] {
        node.tell(&format!("CLUSTER SETSLOT {slot} NODE {to_id}"));
    }
    take(5).await;
    take(4).await;
}

#[tokio::test]
async fn while_a_node_is_away_calls_for_its_keys_return_and_others_are_answered() {
    let mut nodes = Nodes::start();
    // The other nodes go on without it.
    for node in &nodes.0 {
        node.tell("CONFIG SET cluster-require-full-coverage no");
    }
    let limiter = RedisLimiter::new(bucket(), keys(), nodes.client());
    let key_of = |node| {
        (0..1_000)
            .map(|key| format!("key{key}"))
            .find(|key| nodes.place(&format!("{{{key}}}")).0 == node)
    };
    let [here, there] = [0, 1].map(|node| key_of(node).unwrap());
    for key in [&here, &there] {
        assert_eq!(limiter.try_acquire(key, 1).await.unwrap().remaining(), 9);
    }
    nodes.0[1].kill();
    let guarded = Guarded::new(limiter.runner().clone());
    let limiter =
        RedisLimiter::new(bucket(), keys(), guarded.with_pause(std::time::Duration::ZERO));
    for left in (0..9).rev() {
        let error = limiter.try_acquire(&there, 1).await.unwrap_err();
        let TryAcquireError::Store(error) = error else { panic!("{error:?}") };
        assert!(!matches!(error, StoreError::Reply { .. }), "{error:?}");
        assert_eq!(limiter.try_acquire(&here, 1).await.unwrap().remaining(), left);
    }
}

#[tokio::test]
async fn a_node_that_hangs_is_sent_no_request_twice() {
    let nodes = Nodes::start();
    let [patient, hasty] = [600, 1].map(|seconds| {
        let builder = ClusterClient::builder(nodes.0.each_ref().map(Server::url));
        let builder = builder.response_timeout(std::time::Duration::from_secs(seconds));
        RedisLimiter::new(bucket(), keys(), Cluster::new(builder).unwrap())
    });
    assert_eq!(patient.try_acquire("ada", 1).await.unwrap().remaining(), 9);
    while hasty.peek("ada", 1).await.is_err() {}
    let node = &nodes.0[nodes.place("app:tb:{ada}").0];
    node.tell("CLIENT PAUSE 600000 WRITE");
    let Err(TryAcquireError::Store(error)) = hasty.try_acquire("ada", 1).await else {
        panic!("a node that hangs has answered");
    };
    assert!(matches!(error, StoreError::TimedOut), "{error:?}");
    node.tell("CLIENT UNPAUSE");
    // The request was late, or never run, since its connection was left: but not run twice.
    let left = patient.try_acquire("ada", 1).await.unwrap().remaining();
    assert!([7, 8].contains(&left), "{left}");
}
