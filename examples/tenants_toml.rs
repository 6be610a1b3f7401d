//! The problem: many tenants on a few plans, and both change without a new build. The quotas are
//! read from a TOML file, as text in the same grammar as `quota!`. A `Keyed` has a tier for each
//! plan. It stores a tenant only while the tenant's bucket is not full.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;

use serde::Deserialize;
use sluicegate::clock::DefaultClock;
use sluicegate::keyed::{Buckets, Tiers};
use sluicegate::{Keyed, Quota};

/// The file's content.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    default: String,
    plans: BTreeMap<String, Quota>,
    tenants: BTreeMap<String, String>,
}

type Tenants<F> = Keyed<String, Buckets<DefaultClock, Tiers<F>>>;

fn load(text: &str) -> Result<Tenants<impl Fn(&String) -> usize>, Box<dyn Error>> {
    let config: Config = toml::from_str(text)?;
    let tier_of_plan = |plan: &String| {
        let tier = config.plans.keys().position(|name| name == plan);
        tier.ok_or_else(|| format!("there is no plan `{plan}`"))
    };
    let default = tier_of_plan(&config.default)?;
    let mut tiers = HashMap::new();
    for (tenant, plan) in &config.tenants {
        tiers.insert(tenant.clone(), tier_of_plan(plan)?);
    }
    let tier = move |tenant: &String| tiers.get(tenant).copied().unwrap_or(default);
    Ok(Keyed::with(Buckets::tiered(config.plans.into_values(), tier)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let tenants = load(include_str!("tenants.toml"))?;

    for (tenant, requests) in [("acme", 40), ("initech", 3), ("initech", 1), ("somebody", 1)] {
        match tenants.try_acquire(tenant, requests) {
            Ok(grant) => {
                println!("{tenant}: {requests} of {}, {} left", grant.limit(), grant.remaining());
            }
            Err(denied) => println!("{tenant}: denied, limit {}", denied.limit().unwrap_or(0)),
        }
    }

    // An error names its place in the file.
    let wrong = "default = 'free'\n[tenants]\n[plans]\nfree = '3 / hour, burst 0'\n";
    if let Err(error) = load(wrong) {
        println!("{}", error.to_string().trim_end());
    }
    Ok(())
}
