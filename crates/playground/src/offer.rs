//! Checks of the limiters that a policy offers.

use crate::setup::CheckedSetup;
use crate::wire::{Offer, OfferedLimiter, Setup};

/// Returns the limiters of a policy at this instant.
pub(crate) type OfferSource = Box<dyn Fn() -> Offer + Send + Sync>;

/// Returns the offer with the value of every parameter, and without the set-ups that a session would refuse.
pub(crate) fn checked(offer: Offer) -> Offer {
    Offer { limiters: offer.limiters.into_iter().map(check).collect(), ..offer }
}

fn check(offered: OfferedLimiter) -> OfferedLimiter {
    let Some(side) = offered.side else { return offered };
    let checked = CheckedSetup::new(&Setup { sides: vec![side], speed: 1.0, seed: 0 });
    match checked {
        Ok(checked) => OfferedLimiter { side: checked.shown.sides.into_iter().next(), ..offered },
        Err(problems) => {
            let messages: Vec<_> = problems.into_iter().map(|problem| problem.message).collect();
            OfferedLimiter { side: None, reason: Some(messages.join("; ")), ..offered }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_session_would_refuse_is_told_and_not_offered() {
        let offer = json!({ "source": "limits.toml", "limiters": [
            { "name": "small", "side": { "algorithm": "fixed_window", "parameters": { "limit": 7 } } },
            { "name": "large", "side": { "algorithm": "fixed_window", "parameters": { "limit": 1e12 } } },
            { "name": "other", "reason": "it follows the calendar" },
        ] });
        let offer = checked(serde_json::from_value(offer).unwrap());
        let [small, large, other] = &offer.limiters[..] else { panic!("{offer:?}") };
        assert_eq!(small.side.as_ref().unwrap().parameters["window"], json!(10.0));
        assert_eq!((large.side.is_none(), other.side.is_none()), (true, true));
        assert!(large.reason.as_ref().unwrap().contains("limit is 1000000000000"), "{large:?}");
        assert_eq!(other.reason.as_deref(), Some("it follows the calendar"));
    }
}
