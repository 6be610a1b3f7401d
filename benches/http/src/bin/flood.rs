//! An attacker with millions of IPv6 networks: the memory that a layer takes, and what honest clients get
//! beside it.
//!
//! ```text
//! cargo run --release -p sluicegate-http-benches --bin flood -- table|keyed|bounded|tower_governor [ADDRESSES]
//! ```
//!
//! The attacker sends a request from each of its /64s once, 200,000 of them a second by a clock that is set
//! by hand. A thousand honest clients send beside it, 12 requests a second each, of which 10 are granted.
//! Each answer to them is compared with a bucket of the client's own that no attacker can reach. (The
//! clock of `tower_governor` cannot be set, so only its memory is measured.)

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluicegate::keyed::{Buckets, WhenFull};
use sluicegate::{KeyTable, Keyed, KeyedLimiter, ManualClock, Quota, TokenBucket, quota};
use sluicegate_http::client_address::ClientKey;
use sluicegate_http::layer::{Limit, RateLimitLayer};
use sluicegate_http_benches::{Call, Outcome, Subject, caller, request, service};
use tower::{Layer, service_fn};

const PER_SECOND: u64 = 200_000;
const HONEST: u32 = 1_000;

type Clock = Arc<ManualClock>;

/// A store behind a layer, and its own count of its memory.
struct Store {
    call: Call,
    memory_bytes: Box<dyn Fn() -> usize>,
    keys: Box<dyn Fn() -> usize>,
}

impl Store {
    fn new<S: KeyedLimiter<ClientKey> + 'static>(store: S) -> Store {
        let store = Arc::new(store);
        let layer = RateLimitLayer::new(Limit::per_client(Arc::clone(&store)));
        let hello = service_fn(async |_| Ok(http::Response::new(axum::body::Body::from("hello"))));
        let (memory, keys) = (Arc::clone(&store), store);
        Store {
            call: caller(layer.layer(hello)),
            memory_bytes: Box::new(move || memory.memory_bytes()),
            keys: Box::new(move || keys.len()),
        }
    }
}

fn store(name: &str, quota: Quota, clock: &Clock) -> Store {
    let clock = Arc::clone(clock);
    match name {
        "table" => {
            let table = KeyTable::<ClientKey>::builder(quota).clock(clock);
            let table = table.when_full(WhenFull::Share(quota!(1_000 / second)));
            Store::new(table.keys(1_000_000).expect("the quota is in range"))
        }
        "keyed" => Store::new(Keyed::<ClientKey, _>::with(Buckets::with_clock(quota, clock))),
        "bounded" => {
            let keyed = Keyed::<ClientKey, _>::builder(Buckets::with_clock(quota, clock));
            let keyed = keyed.when_full(WhenFull::Share(quota!(1_000 / second)));
            Store::new(keyed.max_keys(100_000).build().expect("the bound is in range"))
        }
        other => panic!("{other:?}: must be table, keyed, bounded or tower_governor"),
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().expect("the name of a store");
    let addresses = arguments.next().map_or(4_000_000, |text| text.parse().expect("a number"));
    if name == "tower_governor" {
        return memory_of_governor(addresses);
    }
    for (text, quota) in [
        ("10 a second, burst 20", quota!(10 / second, burst 20)),
        ("10 a minute, burst 10", quota!(10 / minute, burst 10)),
    ] {
        println!("\n{name}, {text}: {addresses} addresses at {PER_SECOND} a second");
        flood(&name, quota, addresses);
    }
}

/// The figures of a flood.
#[derive(Default)]
struct Tally {
    attacker: [u64; 3],
    honest: [u64; 3],
    /// Answers to honest clients that were not those of a bucket of their own.
    wrong: u64,
}

impl Tally {
    fn count(counts: &mut [u64; 3], status: u16) {
        let which = match status {
            200 => 0,
            429 => 1,
            _ => 2,
        };
        counts[which] += 1;
    }
}

fn flood(name: &str, quota: Quota, addresses: u64) {
    let clock: Clock = Arc::new(ManualClock::new());
    let mut store = store(name, quota, &clock);
    let own: Vec<_> =
        (0..HONEST).map(|_| TokenBucket::with_clock(quota, Arc::clone(&clock))).collect();
    let honest =
        |number: u32| SocketAddr::new(Ipv4Addr::from_bits(0xcb00_0000 + number).into(), 4711);
    let mut tally = Tally::default();
    let begun = Instant::now();
    let mut turn = 0;
    for number in 0..addresses {
        Tally::count(&mut tally.attacker, (store.call)(request(attacker(number))));
        clock.advance_nanos(1_000_000_000 / PER_SECOND);
        // 12 requests a second of each honest client, spread over the second.
        while turn * PER_SECOND < number * 12 * u64::from(HONEST) {
            let client = u32::try_from(turn % u64::from(HONEST)).expect("a small number");
            let status = (store.call)(request(honest(client)));
            let granted = own[client as usize].try_acquire(1).is_ok();
            tally.wrong += u64::from(granted != (status == 200));
            Tally::count(&mut tally.honest, status);
            turn += 1;
        }
        if (number + 1) % (addresses / 4) == 0 {
            println!(
                "after {:>9}: {:>4} MB resident, store {:>4} MB, {:>7} live keys",
                number + 1,
                resident() >> 20,
                (store.memory_bytes)() >> 20,
                (store.keys)(),
            );
        }
    }
    let Tally { attacker, honest, wrong } = tally;
    println!(
        "attacker: {} granted, {} denied, {} without space",
        attacker[0], attacker[1], attacker[2]
    );
    println!("honest:   {} granted, {} denied, {} without space", honest[0], honest[1], honest[2]);
    println!("honest answers that differ from those of a bucket of their own: {wrong}");
    clock.advance(Duration::from_secs(120));
    println!(
        "{:.1} s; two minutes later {} live keys",
        begun.elapsed().as_secs_f64(),
        (store.keys)()
    );
}

/// The address of the attacker in a /64 of its own.
fn attacker(number: u64) -> SocketAddr {
    let network = 0x2001_0db8_0000_0000 | number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff;
    SocketAddr::new(
        Ipv6Addr::from_bits(u128::from(network) << 64 | u128::from(number)).into(),
        4711,
    )
}

fn memory_of_governor(addresses: u64) {
    let mut call = service(Subject::Governor, Outcome::Allow);
    for number in 0..addresses {
        call(request(attacker(number)));
        if (number + 1) % (addresses / 4) == 0 {
            println!("after {:>9}: {:>4} MB resident", number + 1, resident() >> 20);
        }
    }
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}
