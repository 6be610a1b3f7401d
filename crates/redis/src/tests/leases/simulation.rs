//! Many nodes by the real scripts, in a simulated time, with faults.
//!
//! The server is the scripts in an embedded Lua. A node is the keys of the limiter as they are; the simulation
//! takes the place of its tasks and its connection. Everything follows from a seed.
//!
//! | fault | |
//! |---|---|
//! | crash | a node forgets everything, and another takes its place; its messages go on |
//! | lost before | a message does not arrive; its sender gives up |
//! | lost after | the script runs; its answer does not arrive |
//! | late | the script runs when the sender has given up; one that gives back may be up to ten minutes late |
//! | twice | the script runs once more, later |
//! | clock of a node | goes forward or back, by up to a minute |
//! | clock of the server | goes forward, by up to a window, or back, by up to an hour |
//! | failover | a replica takes over, which has not seen the last writes |
//! | given up | a caller does not wait any longer |
//!
//! Checked: in no span is more granted than the limit allows, or what was forgotten in a failover besides; no node grants a
//! permit twice, or once its lease has ended; every call is answered, by the second request at the latest; permits come back in time, also
//! after the server's clock was set back; and there are spans in which nearly everything is granted that may be, or the test could not fail.

mod ledger;
mod network;
mod node;
mod server;
mod set_back;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use self::ledger::{Entry, Ledger, buckets};
use self::node::{Node, ask};
use self::server::Server;
use crate::key_space::KeySpace;
use crate::lease::parts::LeaseTerms;
use crate::request::KeyedLimit;
use crate::{LeaseOptions, RedisLimit};

const START: u64 = 1_782_864_000_000_000;
const SECOND: u64 = 1_000_000;
/// Microseconds after which a sender gives up.
const TIME_LIMIT: u64 = 20_000;
/// More than any of the limits needs to be full.
const FILL: u64 = 3 * SECOND;

/// A message on its way, or its end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Runs {
        from: Sender,
        keys: Vec<String>,
        arguments: Vec<Vec<u8>>,
    },
    /// The answer, if there is one, and the time at which the script ran.
    Answered {
        to: Sender,
        reply: Option<Vec<i64>>,
        ran: u64,
    },
}

/// The flight of a node, and of which one of those that took its place; none for one that gives back.
type Sender = Option<(usize, u64, u64)>;

struct Simulation {
    random: SmallRng,
    server: Server,
    /// The whole limit, of callers without leases.
    whole: KeyedLimit,
    name: String,
    own: Vec<Own>,
    nodes: Vec<Node>,
    lives: Vec<u64>,
    /// Microseconds that have passed, and by which the server's clock was set forward.
    micros: u64,
    /// Microseconds by which it was set back.
    back: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    numbers: u64,
    ledger: Ledger,
    /// Permits charged since the replica was brought up to date.
    unseen: u64,
    world: World,
    steps: u64,
}

/// The world of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum World {
    Faultless,
    Faulty,
    /// Without faults, but half of the nodes have other options, and others call for the same key without leases.
    Mixed,
}

/// The terms of a node, and its requests.
struct Own {
    terms: LeaseTerms,
    keyed: KeyedLimit,
}

/// The most percent of a limit that leases hold in a simulation.
const SHARE_PERCENT: u32 = 50;

impl Own {
    fn new(limit: &RedisLimit, nodes: usize, percent: u32) -> Own {
        let options = LeaseOptions::builder(nodes as u32).share_percent(percent).build().unwrap();
        let terms = LeaseTerms::new(limit, &options).unwrap();
        let keyed = keyed(&terms.limit);
        Own { terms, keyed }
    }
}

fn keyed(limit: &RedisLimit) -> KeyedLimit {
    KeyedLimit { limit: limit.clone(), keys: KeySpace::new("sim").unwrap() }
}

impl Simulation {
    fn new(limit: &RedisLimit, nodes: usize, seed: u64, world: World) -> Simulation {
        let own = |node| {
            let is_other = world == World::Mixed && node % 2 == 1;
            Own::new(limit, nodes, if is_other { SHARE_PERCENT * 4 / 5 } else { SHARE_PERCENT })
        };
        let whole = keyed(limit);
        let name = whole.name("ada").unwrap();
        Simulation {
            random: SmallRng::seed_from_u64(seed),
            server: Server::new(START),
            whole,
            own: (0..nodes).map(own).collect(),
            nodes: (0..nodes).map(|_| Node::new(&name, 0)).collect(),
            name,
            lives: vec![0; nodes],
            micros: 0,
            back: 0,
            events: BinaryHeap::new(),
            numbers: 0,
            ledger: Ledger::default(),
            unseen: 0,
            world,
            steps: 0,
        }
    }

    /// Returns whether a fault happens that does so once in `in_all` times.
    fn strikes(&mut self, in_all: u32) -> bool {
        self.world == World::Faulty && self.random.random_ratio(1, in_all)
    }

    /// Returns a number that no call, flight or event has, nor the next.
    fn number(&mut self) -> u64 {
        self.numbers += 2;
        self.numbers
    }

    fn push(&mut self, micros: u64, event: Event) {
        let number = self.number();
        self.events.push(Reverse((micros, number, event)));
    }

    fn run(&mut self, steps: u64) {
        while self.steps < steps {
            match self.random.random_range(0..10) {
                0..4 => self.traffic(),
                4..7 => {
                    self.gather();
                    self.storm();
                    // Again, before all of it has left a window.
                    let pause = self.random.random_range(0..SECOND);
                    self.pass(pause);
                    self.storm();
                }
                7 => self.storm(),
                8 if self.world == World::Faulty => self.come_back(),
                8 => self.pass(FILL),
                _ => self.end_leases(),
            }
        }
        self.pass(SECOND);
        assert!(self.nodes.iter().all(|node| node.waits() == 0), "every call is answered");
    }

    /// Calls at random nodes, at a pace that the limit allows on the whole.
    fn traffic(&mut self) {
        for _ in 0..60 {
            let node = self.random.random_range(0..self.nodes.len());
            for _ in 0..self.random.random_range(1..8) {
                let most = self.own[node].terms.largest().min(4);
                let permits = self.random.random_range(1..=most);
                self.call(node, permits);
            }
            let pause = self.random.random_range(0..160_000);
            self.pass(pause);
            self.fault();
        }
    }

    /// Brings leases to all nodes, each as large as it gets, and the server to full.
    fn gather(&mut self) {
        for node in 0..self.nodes.len() {
            for _ in 0..100 {
                if self.nodes[node].held() > self.own[node].terms.most * 9 / 10 {
                    break;
                }
                self.call(node, 1);
                self.pass(1_000);
            }
            // Some at once if they are many, whose leases are small.
            if node % 4 == 0 || self.nodes.len() < 10 {
                self.pass(FILL);
            }
            self.fault();
        }
        self.pass(FILL);
    }

    /// All nodes take as much as they get, in as short a time as the network allows.
    fn storm(&mut self) {
        let (mut ends_leases, ends_later) = (false, self.random.random());
        for _ in 0..5 {
            for node in 0..self.nodes.len() {
                if ends_leases && self.random.random_ratio(1, 3) {
                    self.end_lease(node);
                }
                let held = self.nodes[node].held();
                for _ in 0..held - self.random.random_range(0..=held / 5) {
                    self.call(node, 1);
                }
                // Right after what was left was spent.
                if ends_leases && self.random.random() {
                    self.end_lease(node);
                }
                let most = 200 / self.nodes.len();
                for _ in 0..self.random.random_range(1..=most) {
                    let most = if self.random.random_ratio(1, 8) {
                        self.own[node].terms.largest()
                    } else {
                        1
                    };
                    let permits = self.random.random_range(1..=most);
                    self.call(node, permits);
                }
            }
            if self.world == World::Mixed {
                self.call_without_leases();
            }
            if self.strikes(6) {
                self.go_back();
                // Until denials that nodes remember have ended.
                self.pass(50_000);
            }
            let pause = self.random.random_range(0..3_000);
            self.pass(pause);
            // Not those that were gathered: they are too old to be given back.
            ends_leases = ends_later;
        }
    }

    /// Sets the server's clock back when it has no permits left: some come back as soon as a limit is full again.
    fn come_back(&mut self) {
        self.storm();
        self.go_back();
        let granted = self.ledger.granted();
        // One that has just begun: it remembers no denial, and has no lease.
        self.crash(0);
        // Not all of its messages are lost.
        for _ in 0..40 {
            self.call(0, 1);
            self.pass(FILL / 20);
            if self.ledger.granted() > granted {
                return;
            }
        }
        panic!("nothing comes back");
    }

    fn end_leases(&mut self) {
        for node in 0..self.nodes.len() {
            if self.random.random() {
                self.end_lease(node);
            }
        }
    }

    fn end_lease(&mut self, node: usize) {
        for send in self.nodes[node].retire() {
            self.send(node, send);
        }
    }

    fn call(&mut self, node: usize, permits: u64) {
        self.steps += 1;
        let (number, up_to) = (self.number(), self.random.random_ratio(1, 4));
        let (answer, send) =
            self.nodes[node].call(ask(permits, up_to), number, &self.own[node].terms);
        if let Some(Ok(granted)) = answer {
            self.ledger.add(START + self.micros, Entry::Granted(granted));
        }
        // The flight has the next number.
        if let Some(send) = send {
            self.send(node, send);
        }
        if self.strikes(50) {
            let index = self.random.random_range(0..8);
            self.nodes[node].give_up(index);
        }
    }
}

/// Simulates so many steps for each limit and each number of nodes. Returns how near to the bound it came, at worst, in
/// percent.
fn simulate(steps: u64, seeds: std::ops::Range<u64>, world: World) -> u64 {
    let mut least = u64::MAX;
    for (limit, bound) in buckets() {
        for nodes in [3, 8, 50] {
            let mut nearest = 0;
            // What the leases of nodes that know nothing of the others may hold.
            let lent = nodes as u64 * Own::new(&limit, nodes, SHARE_PERCENT).terms.most;
            let beyond = if world == World::Mixed { lent } else { 0 };
            for seed in seeds.clone() {
                let mut simulation = Simulation::new(&limit, nodes, seed, world);
                simulation.run(steps);
                let (most, excess) = simulation.ledger.worst(bound);
                let of = format!("{limit:?}, {nodes} nodes, seed {seed}");
                assert!(excess <= beyond, "{of}: {most}, {excess} beyond the limit");
                assert!(simulation.ledger.granted() > steps / 20, "{of}");
                nearest = nearest.max(most * 100 / limit.limit());
            }
            println!("{nodes} nodes, up to {nearest} % of the limit: {limit:?}");
            least = least.min(nearest);
        }
    }
    least
}

#[test]
fn nodes_without_faults_are_granted_nearly_all_that_the_limit_allows_and_no_more() {
    let nearest = simulate(10_000, 0..1, World::Faultless);
    assert!(nearest >= 80, "only {nearest} %");
}

#[test]
fn nodes_with_faults_are_granted_no_more_than_the_limit_allows() {
    let nearest = simulate(steps(), 1..3, World::Faulty);
    assert!(nearest >= 80, "only {nearest} %");
}

#[test]
fn other_options_on_the_same_key_add_what_leases_hold_and_no_more() {
    let nearest = simulate(3_000, 0..3, World::Mixed);
    assert!(nearest >= 115, "only {nearest} %");
}

/// The steps of each simulation: as many as the environment says, by which `ci/leases.sh` has more of them.
fn steps() -> u64 {
    std::env::var("SLUICEGATE_LEASE_STEPS").map_or(5_000, |steps| steps.parse().unwrap())
}
