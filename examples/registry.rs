//! The problem: the limits of a running server, by name, in a file that can be read again at any
//! time. Each is a `TokenBucket` in an `Arc`: its user looks it up once and needs no lock after
//! that, and `reconfigure` changes it without making a caller wait. `Carry::Keep` keeps the tokens,
//! so that a reload gives nobody a new burst.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError, RwLock};

use sluicegate::bucket::Carry;
use sluicegate::{Quota, TokenBucket};

#[derive(Default)]
struct Registry {
    limiters: RwLock<HashMap<String, Arc<TokenBucket>>>,
}

impl Registry {
    fn get(&self, name: &str) -> Option<Arc<TokenBucket>> {
        self.limiters.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Enforces the quotas in `text` from now on. If there is an error in it, nothing changes.
    fn load(&self, text: &str) -> Result<(), toml::de::Error> {
        let quotas: HashMap<String, Quota> = toml::from_str(text)?;
        let mut limiters = self.limiters.write().unwrap_or_else(PoisonError::into_inner);
        limiters.retain(|name, _| quotas.contains_key(name));
        for (name, quota) in quotas {
            match limiters.entry(name) {
                Entry::Occupied(limiter) => limiter.get().reconfigure(quota, Carry::Keep),
                Entry::Vacant(place) => {
                    place.insert(Arc::new(TokenBucket::new(quota)));
                }
            }
        }
        Ok(())
    }

    fn print(&self, name: &str) {
        let Some(limiter) = self.get(name) else { return println!("{name}: no limiter") };
        let left = limiter.peek(0).map_or(0, |grant| grant.remaining());
        println!("{name}: {}, {left} left", limiter.quota());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::default();
    registry.load("search = '100 / hour'\nupload = '5 / hour'")?;

    let search = registry.get("search").ok_or("there is no limiter `search`")?;
    search.try_acquire(70)?;
    registry.print("search");
    registry.print("upload");

    registry.load("search = '200 / hour, burst 150'\nlogin = '3 / hour'")?;
    println!("-- read again");
    registry.print("search");
    registry.print("upload");
    registry.print("login");
    // The limiter that was looked up before the reload has the new quota too.
    println!("search, as its user sees it: {}", search.quota());

    if let Err(error) = registry.load("search = '0 / hour'") {
        println!("-- not read: {}", error.message());
        registry.print("search");
    }
    Ok(())
}
