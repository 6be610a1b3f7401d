//! The problem: the limits of a running server, in a policy file that operators change while it runs,
//! first only to count what would be denied. A request is a line of standard input here, with the
//! address of its client.

use std::error::Error;
use std::io;

use sluicegate_policy::{KeyedHandle, Registry};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("the argument is a policy file")?;
    let registry = Registry::open(&path)?;
    registry.on_event(|event| println!("{event}"));
    let _watch = registry.watch(&path)?;
    let per_address = registry.keyed("per-address")?;
    for client in io::stdin().lines() {
        let client = client?;
        println!("{client}: {}", answer(&per_address, &client));
    }
    Ok(())
}

fn answer(limiter: &KeyedHandle, client: &str) -> &'static str {
    match limiter.try_pass(client) {
        Ok(pass) if pass.would_deny() => "served, but would be denied",
        Ok(_) => "served",
        Err(_) => "denied",
    }
}
