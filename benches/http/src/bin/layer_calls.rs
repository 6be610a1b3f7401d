//! A number of calls of one subject in this process, to count their instructions: see
//! `benches/http/instructions.sh`.

use std::net::{Ipv4Addr, SocketAddr};

use sluicegate_http_benches::{Call, Outcome, Subject, around, caller, request, router, service};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: layer_calls SUBJECT service|router|around allow|deny CLIENTS CALLS";
    let [subject, level, outcome, clients, calls] = arguments.as_slice() else { panic!("{usage}") };
    let subject: Subject = subject.parse().expect(usage);
    let outcome = if outcome == "deny" { Outcome::Deny } else { Outcome::Allow };
    let call = match level.as_str() {
        "around" => around(subject, outcome),
        "router" => caller(router(subject, outcome)),
        _ => service(subject, outcome),
    };
    let clients: u32 = clients.parse().expect(usage);
    let calls: u32 = calls.parse().expect(usage);
    run(call, outcome, subject, clients, calls);
}

fn run(mut call: Call, outcome: Outcome, subject: Subject, clients: u32, calls: u32) {
    let client = |number: u32| {
        SocketAddr::new(Ipv4Addr::from_bits(0x0a00_0000 + number % clients).into(), 4711)
    };
    // Every client has come before, and has nothing left if it is to be denied.
    for number in 0..clients {
        assert_eq!(call(request(client(number))), 200);
    }
    let expected = if outcome == Outcome::Deny && subject.has_limit() { 429 } else { 200 };
    for number in 0..calls {
        // Addresses that lie apart, as those of clients do.
        let request = request(client(number.wrapping_mul(0x9e37_79b1) >> 4));
        assert_eq!(counted_call(&mut call, request), expected);
    }
}

/// The call alone, with its answer thrown away. The request is made outside of it.
#[inline(never)]
fn counted_call(call: &mut Call, request: http::Request<axum::body::Body>) -> u16 {
    call(request)
}
