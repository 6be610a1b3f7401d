//! A gateway before language models, with budgets of tokens for organisations, teams, users and models.
//!
//! Each call is charged with an estimate before it is made: the tokens of the prompt, which are known,
//! and as many for the answer as the caller lets it have. Then it is settled with what the model says that
//! it used. All levels are charged, or none.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::{Clock, ManualClock};
use sluicegate_policy::{Hierarchy, Policies, Refused};

/// Budgets from the widest to the narrowest. They would be in a file.
const POLICY: &str = r"
hierarchy:
  - name: total tokens of the organisation
    key: org
    counts: [input, output]
    policy: token_bucket
    limit: 100000
    rate: { amount: 100000, interval: 1 minute }
    overrides:
      acme: { limit: 1000000, rate: { amount: 1000000, interval: 1 minute } }
  - name: input tokens of the model
    key: [org, model]
    counts: input
    policy: token_bucket
    limit: 60000
    rate: { amount: 60000, interval: 1 minute }
  - name: output tokens of the model
    key: [org, model]
    counts: output
    policy: token_bucket
    limit: 20000
    rate: { amount: 20000, interval: 1 minute }
    overrides:
      '*/small': { limit: 80000, rate: { amount: 80000, interval: 1 minute } }
  - name: tokens of the team in a day
    key: [org, team]
    counts: [input, output]
    policy: budget
    amount: 150000
    overrides:
      acme/*: { amount: 500000 }
  - name: requests of the user
    key: [org, user]
    policy: token_bucket
    limit: 3
    rate: { amount: 3, interval: 1 minute }
";

/// Requests have these fields, and these amounts.
type Budgets = Hierarchy<4, 2>;

struct Call<'a> {
    org: &'a str,
    team: &'a str,
    user: &'a str,
    model: &'a str,
    prompt_tokens: u64,
    max_answer_tokens: u64,
}

fn budgets(clock: impl Clock + Send + Sync + 'static) -> Result<Budgets, Box<dyn Error>> {
    let policies = Policies::from_yaml("gateway.yaml", POLICY)?;
    let fields = ["org", "team", "user", "model"];
    Ok(Hierarchy::new(policies.hierarchy(), fields, ["input", "output"], clock)?)
}

/// Makes one call, if the budgets allow it. Returns the tokens of the answer.
fn serve(
    budgets: &Budgets,
    call: &Call<'_>,
    model: impl FnOnce() -> Option<u64>,
) -> Result<u64, Refused> {
    let request = budgets.request([call.org, call.team, call.user, call.model]);
    let admitted = request.try_acquire([call.prompt_tokens, call.max_answer_tokens])?;
    // Whoever fails without a word has paid for the estimate: dropping keeps all levels charged.
    let Some(answer_tokens) = model() else {
        admitted.cancel();
        return Ok(0);
    };
    for settled in admitted.settle([call.prompt_tokens, answer_tokens]) {
        if let Err(unpaid) = settled {
            eprintln!("{unpaid}");
        }
    }
    Ok(answer_tokens)
}

fn main() -> Result<(), Box<dyn Error>> {
    // A program has a `UnixClock` here; this one moves on when it is told to.
    let clock = Arc::new(ManualClock::new());
    let budgets = budgets(Arc::clone(&clock))?;
    let ada = Call {
        org: "acme",
        team: "search",
        user: "ada",
        model: "large",
        prompt_tokens: 3_000,
        max_answer_tokens: 15_000,
    };

    println!("{} tokens", serve(&budgets, &ada, || Some(400))?);
    // The answer was brief, so there is space for another long one.
    println!("{} tokens", serve(&budgets, &ada, || Some(12_000))?);

    let bob = Call { user: "bob", ..ada };
    let refused = serve(&budgets, &bob, || Some(400)).unwrap_err();
    assert_eq!(refused.level(), "output tokens of the model");
    println!("{refused}");

    // Another model has a budget of its own. The call fails, and nobody pays.
    println!("{} tokens", serve(&budgets, &Call { model: "small", ..bob }, || None)?);
    let request = budgets.request(["acme", "search", "bob", "small"]);
    let left = request.peek([0, 0])?;
    for (level, (key, grant)) in budgets.levels().zip(request.keys().zip(left)) {
        println!("{level}, {key}: {} left", grant.remaining());
    }

    let brief = Call { prompt_tokens: 10, max_answer_tokens: 10, ..ada };
    println!("{} tokens", serve(&budgets, &brief, || Some(1))?);
    let fourth = serve(&budgets, &brief, || Some(1)).unwrap_err();
    assert_eq!(fourth.level(), "requests of the user");
    println!("{fourth}");

    // A bucket has earned its whole limit after a minute.
    clock.advance(Duration::from_secs(60));
    println!("{} tokens", serve(&budgets, &bob, || Some(400))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_budgets_decide_as_the_example_says() {
        super::main().unwrap();
    }
}
