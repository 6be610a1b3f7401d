//! The problem: a model's provider limits requests and tokens, each per minute and per day. A
//! `MultiWindow` decides both windows of one unit in a single step, and no minute and no day exceeds
//! its limit, wherever it begins. A call takes permits of both units or of neither. A call that
//! fails gives its `Receipt`s back, which succeeds if no other call came in between.

use sluicegate::{ConfigError, MultiWindow, Rate, Receipt, rate};

const REQUESTS: [Rate; 2] = [rate!(3 / minute), rate!(1_000 / day)];
const TOKENS: [Rate; 2] = [rate!(10_000 / minute), rate!(500_000 / day)];

struct Gateway {
    requests: MultiWindow,
    tokens: MultiWindow,
}

impl Gateway {
    fn new() -> Result<Gateway, ConfigError> {
        Ok(Gateway { requests: MultiWindow::new(REQUESTS)?, tokens: MultiWindow::new(TOKENS)? })
    }

    /// Takes a request and its tokens, or neither.
    fn admit(&self, tokens: u64) -> Result<[Receipt<'_>; 2], String> {
        let request = self
            .requests
            .try_acquire_revocable(1)
            .map_err(|denied| format!("requests, {} ({denied})", REQUESTS[denied.which()]))?;
        match self.tokens.try_acquire_revocable(tokens) {
            Ok(tokens) => Ok([request, tokens]),
            Err(denied) => {
                request.give_back();
                Err(format!("tokens, {} ({denied})", TOKENS[denied.which()]))
            }
        }
    }

    fn call(&self, tokens: u64, model: impl FnOnce() -> Result<&'static str, &'static str>) {
        match self.admit(tokens) {
            Err(limit) => println!("{tokens} tokens: denied by the limit of {limit}"),
            Ok(receipts) => match model() {
                // Dropping the receipts keeps the permits spent.
                Ok(answer) => println!("{tokens} tokens: {answer}"),
                Err(error) => {
                    let given_back = receipts.map(Receipt::give_back);
                    println!("{tokens} tokens: {error}; given back: {given_back:?}");
                }
            },
        }
        println!("  counted: {} requests, {} tokens", self.requests.count(0), self.tokens.count(0));
    }
}

fn main() -> Result<(), ConfigError> {
    let gateway = Gateway::new()?;
    gateway.call(4_000, || Ok("an answer"));
    gateway.call(4_000, || Err("the provider is overloaded"));
    gateway.call(7_000, || Ok("never asked: 4,000 and 7,000 are too many for a minute"));
    gateway.call(20_000, || Ok("never asked: no minute has so many"));
    gateway.call(6_000, || Ok("another answer"));
    gateway.call(0, || Ok("an answer without tokens"));
    gateway.call(0, || Ok("never asked: three requests are all for this minute"));
    Ok(())
}
